// Has a client that says QUIT ahead and ends its side of the connection hear the replies that it still waits for.
import type { Socket } from 'node:net'

const QUIT = /\r?\nQUIT[ \t]*\r?\n$/i

export const lastReplies = {
  /** How long behind its message a client may say QUIT that waits for the replies: whoever says it later has given up, and sends the message again. */
  quitWithin_ms: 1_000,
}

/** As much as is looked at of the end of what has come. */
const TAIL_CHARS = 16

/**
 * A client that ends its side may have gone, or has only written all that it has to say (as `nc` does): TCP tells the same of both. Only who has
 * said QUIT ahead is answered; who has not is given up. The socket is ended by the library's reply to QUIT, or after its silence.
 * @param socket what commands come from: that of TLS where there is one
 * @param wholeAt when the message that is being taken had come whole, by `performance.now()`; null: none has, and none waits for its reply
 */
export function answerAfterQuit(socket: Socket, wholeAt: () => number | null): void {
  const isLate = () => {
    const at = wholeAt()
    return at !== null && performance.now() - at >= lastReplies.quitWithin_ms
  }
  let tail = ''
  socket.on('data', (part: Buffer) => {
    tail = (tail + part.subarray(-TAIL_CHARS).toString('latin1')).slice(-TAIL_CHARS)
    socket.allowHalfOpen = QUIT.test(tail) && !isLate()
  })
  // The library writes only where this is `open`, and Node says `writeOnly` once the client has ended its side.
  const state = () => (socket.writable ? 'open' : 'closed')
  Object.defineProperty(socket, 'readyState', { get: state })
}
