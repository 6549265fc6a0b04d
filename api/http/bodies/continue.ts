// Requests whose client asks with `Expect: 100-continue` before it sends the body.
import type { IncomingMessage } from 'node:http'

/** Those that have not been told to go on. They are when their body is read, so a refused one is never sent. */
export const expectsContinue = new WeakSet<IncomingMessage>()
