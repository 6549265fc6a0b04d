// Answers requests that the application does not see, since no route can be found for them or they expect what nobody can promise.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { drainUnread, endUnread } from './bodies/drain.ts'
import type { ErrorCode } from './errorCodes.ts'
import { requestIdOf } from './requestId.ts'

/** Answers a request whose address is not to be had from its path and `Host`, so that no route can be found for it. */
export function refuseAddress(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  message = 'The path of the request, or its header Host, cannot be read',
): void {
  refuse(incoming, outgoing, 400, { message, code: 'invalid_request' })
}

/** Answers a request with another `Expect` than `100-continue`, which nobody here can promise. */
export function refuseExpectation(incoming: IncomingMessage, outgoing: ServerResponse): void {
  drainUnread(incoming, outgoing)
  refuse(incoming, outgoing, 417, { message: 'Expect must be 100-continue, or absent' })
}

/** Answers a request that the application does not see. */
function refuse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  status: number,
  body: { message: string; code?: ErrorCode },
): void {
  endUnread(incoming, outgoing)
  const given = incoming.headersDistinct['x-request-id']?.join(', ')
  const text = JSON.stringify(body)
  outgoing.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'X-Request-Id': requestIdOf(given),
  })
  outgoing.end(text)
}
