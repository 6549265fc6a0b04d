// Ends connections whose clients take nothing of the answers that wait for them.
import type { Socket } from 'node:net'

/** What Node keeps of a socket and its types do not show: bytes handed to the system, and those that it has not taken yet. */
interface WithHandle {
  _handle?: { bytesWritten: number; writeQueueSize: number } | null
}

/** How often a connection is looked at within the time that it has. */
const LOOKS = 4

/**
 * Watches a connection until it ends, with or without a key, whatever is answered on it.
 *
 * The time-out of a socket would not do: it begins again with every byte that the client sends, and a client may send
 * line breaks for ever.
 * @param untaken_ms the longest time in which nothing is taken while something waits; the connection is closed within a
 * quarter more
 */
export function watchTaking(socket: Socket, untaken_ms: number): void {
  let taken = 0
  let looks = 0
  const timer = setInterval(() => {
    const now = takenOf(socket)
    looks = socket.writableLength > 0 && now === taken ? looks + 1 : 0
    taken = now
    if (looks >= LOOKS) socket.destroy()
  }, untaken_ms / LOOKS)
  timer.unref()
  socket.once('close', () => clearInterval(timer))
}

/** Bytes that the system has taken: a number that only grows. */
function takenOf(socket: Socket): number {
  const handle = (socket as unknown as WithHandle)._handle
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
