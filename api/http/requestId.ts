// The id of a request, which its answer carries as `X-Request-Id`.
import { randomUUID } from 'node:crypto'
import { limits } from '../../rules/limits.ts'
import { isVisibleAscii } from '../../rules/visibleAscii.ts'

/** @param given the header of the request, which is kept if it is 1-128 visible ASCII characters; else one is made */
export const requestIdOf = (given = ''): string =>
  isVisibleAscii(given, limits.requestIdCharsMax) ? given : `req_${randomUUID()}`
