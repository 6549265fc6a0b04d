// Ends connections whose clients take nothing of an answer that waits for them.
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What Node keeps of a socket and its types do not show: the bytes that the system has not taken yet. */
interface WithQueue {
  _handle?: { writeQueueSize?: number } | null
}

/** How often an answer is looked at within the time that it has. */
const LOOKS = 4

/**
 * Watches the answer of one request, from when it is made until the system has taken all of it.
 *
 * The time-out of a socket would not do: it begins again with every byte that the client sends, and a client may send
 * line breaks for ever.
 * @param untaken_ms the longest time without progress; the connection is closed within a quarter more
 */
export function watchTaking(outgoing: ServerResponse, socket: Socket, untaken_ms: number): void {
  outgoing.once('prefinish', () => {
    let left = leftOf(outgoing, socket)
    let looks = 0
    const timer = setInterval(() => {
      const now = leftOf(outgoing, socket)
      looks = now === left ? looks + 1 : 0
      left = now
      if (looks >= LOOKS) socket.destroy()
    }, untaken_ms / LOOKS)
    timer.unref()
    outgoing.once('close', () => clearInterval(timer))
  })
}

/** What has not been taken: it changes with every byte that is. */
function leftOf(outgoing: ServerResponse, socket: Socket): string {
  const queued = (socket as unknown as WithQueue)._handle?.writeQueueSize
  return `${outgoing.writableLength} ${socket.writableLength} ${queued}`
}
