// Requests whose client asks with `Expect: 100-continue` before it sends the body.
import type { IncomingMessage } from 'node:http'

/**
 * Requests that have not been answered `100 Continue` yet. That is sent when the service begins to read the body; so a
 * client whose request is refused before never sends it.
 */
export const expectsContinue = new WeakSet<IncomingMessage>()
