// What becomes of a body that was not read to its end: the client is told that the connection ends; after the answer a
// little is read and thrown away, so that the client comes to read the answer; then the connection is closed.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'

const DRAIN_MS = 2_000
const DRAIN_BYTES = 8 * 1024 * 1024

/** Connections that end after the answer that is being sent on them. */
const ending = new WeakSet<Socket>()

/** Whether a client was told that its connection ends, so that nothing more that comes on it is served. */
export const isEnding = (socket: Socket): boolean => ending.has(socket)

/**
 * To be called when the answer is known, before its head is written. If the body has not come whole then, the answer says
 * `Connection: close`, and the rest is drained after it.
 */
export function endUnread(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.complete || outgoing.headersSent) return
  const { socket } = incoming
  outgoing.setHeader('Connection', 'close')
  outgoing.removeHeader('Keep-Alive')
  ending.add(socket)
  // Node calls this after such an answer. It would close the connection at once, and a client that still writes then loses
  // the answer.
  socket.destroySoon = () => closeLater(incoming, socket)
}

/** Watches one request. When its answer has been sent, and its body not read whole, the rest is drained. */
export function drainUnread(incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.once('finish', () => {
    if (incoming.readableEnded || incoming.destroyed || ending.has(incoming.socket)) return
    // An answer that the application did not make, such as to a malformed Host, did not say that the connection ends.
    if (!incoming.complete) closeLater(incoming, incoming.socket)
    incoming.resume()
  })
}

/** Closes the connection when the body has ended, or has not ended in time. Nothing of it is kept. */
function closeLater(incoming: IncomingMessage, socket: Socket): void {
  let bytes = 0
  const stop = () => {
    clearTimeout(timer)
    incoming.off('data', onData)
    incoming.off('end', close)
    socket.off('close', stop)
  }
  const close = () => {
    stop()
    Socket.prototype.destroySoon.call(socket)
  }
  const onData = (piece: Buffer) => {
    bytes += piece.length
    // A client that still writes would lose the answer if the connection were closed now, so it only waits.
    if (bytes > DRAIN_BYTES) incoming.pause()
  }
  const timer = setTimeout(close, DRAIN_MS)
  incoming.on('data', onData)
  incoming.on('end', close)
  socket.on('close', stop)
  if (incoming.complete && incoming.readableLength === 0) close()
  else incoming.resume()
}
