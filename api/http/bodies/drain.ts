// What becomes of a body that was not read to its end: after the answer a little is read and thrown away, so that the
// client comes to read the answer; then the connection is closed.
import type { IncomingMessage, ServerResponse } from 'node:http'

const DRAIN_MS = 2_000
const DRAIN_BYTES = 8 * 1024 * 1024

/** Watches one request. When its answer has been sent, and its body not read whole, the rest is drained. */
export function drainUnread(incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.once('finish', () => {
    if (incoming.readableEnded || incoming.destroyed) return
    if (!incoming.complete) closeLater(incoming)
    incoming.resume()
  })
}

/** Closes the connection when the body has not ended in time. Nothing of it is kept. */
function closeLater(incoming: IncomingMessage): void {
  const { socket } = incoming
  let bytes = 0
  const stop = () => {
    clearTimeout(timer)
    incoming.off('data', onData)
    incoming.off('end', stop)
    socket.off('close', stop)
  }
  const close = () => {
    stop()
    socket.destroySoon()
  }
  const onData = (piece: Buffer) => {
    bytes += piece.length
    // A client that still writes would lose the answer if the connection were closed now, so it only waits.
    if (bytes > DRAIN_BYTES) incoming.pause()
  }
  const timer = setTimeout(close, DRAIN_MS)
  incoming.on('data', onData)
  incoming.on('end', stop)
  socket.on('close', stop)
}
