// Checks the `headers` of POST /v1/emails: what a caller sets beside the headers of the service.

import type { JsonObject } from '../../rules/json.ts'
import { isStorableText } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { holdsWordMark, isReservedHeader, isStructuredHeader } from '../../rules/mail/headers.ts'
import { isOneLine } from '../../rules/oneLine.ts'
import { shown } from '../../rules/shown.ts'
import { badRequest } from '../http/errors.ts'
import { recordOf } from './parseBody.ts'

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,76}$/
const VISIBLE_ASCII = /^[\x20-\x7e]*$/

/**
 * Reads `headers` of the body.
 * @throws ApiError 400 that names the header
 */
export function readHeaders(given: JsonObject): Record<string, string> {
  const headers = recordOf(given, 'headers', limits.headersPerEmailMax)
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) {
      const form = '1-76 letters, digits or marks without space and colon'
      throw badRequest(`headers: a name must be ${form}, not ${shown(name)}`, 'invalid_header')
    }
    if (isReservedHeader(name)) {
      throw badRequest(
        `headers: ${name} is written by the service or by mail servers and must be left out`,
        'reserved_header',
      )
    }
    if (seen.has(name.toLowerCase())) {
      throw badRequest(`headers: ${name} is given twice, in upper and lower case`, 'invalid_header')
    }
    seen.add(name.toLowerCase())
    const fault = headerValueFault(name, value)
    if (fault) throw badRequest(`headers: the value of ${name} ${fault}`, 'invalid_header')
  }
  return headers
}

/** What is wrong with a header's value; it is not shown, since some headers carry secrets. */
function headerValueFault(name: string, value: string): string | null {
  const max = limits.subjectCharsMax
  if (value.length > max) return `must not exceed ${max} characters, has ${value.length}`
  if (!isOneLine(value)) {
    return 'must not hold line breaks or other control characters'
  }
  if (!isStorableText(value)) return 'must not hold half of a surrogate pair'
  // Nothing in them could be encoded, so that readers would see something else than what was given.
  if (!isStructuredHeader(name)) return null
  if (!VISIBLE_ASCII.test(value) || holdsWordMark(value)) {
    return 'must be visible ASCII and spaces, without =?'
  }
  // A line of mail has at most 998 characters (RFC 5322 2.1.1), and only a space may be where a line ends.
  const wordMax = limits.headerWordCharsMax
  const longest = Math.max(...value.split(' ').map((word) => word.length))
  return longest > wordMax
    ? `must not hold a word of over ${wordMax} characters, has one of ${longest}`
    : null
}
