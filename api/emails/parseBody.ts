// Checks the body of POST /v1/emails by hand: the contract fixes the order and the texts of its checks.

import { checkHtmlSize } from '../../commands/emails/htmlSize.ts'
import { type Mailbox, parseMailbox } from '../../rules/addresses.ts'
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import { findJsonFault } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { refuse } from '../../rules/refusals.ts'
import { shownText, typeName } from '../../rules/shown.ts'
import { LargeText } from '../http/bodies/largeText.ts'
import { badRequest } from '../http/errors.ts'
import { orThrow, toApiError } from '../http/refusals.ts'

/** The fields that the contract's checks have read. `readDetails` reads the others. */
export interface SendEmailBody {
  from: string
  sender: Mailbox
  to: string[]
  cc: string[]
  bcc: string[]
  subject: string | undefined
  html: string | LargeText | undefined
  text: string | LargeText | undefined
  templateId: string | undefined
  given: JsonObject
}

/**
 * Runs the checks of the contract in its order, up to the format of `from`.
 * @throws ApiError 400 with the contract's text, or one that names the field of a wrong type
 */
export function readBody(given: unknown): SendEmailBody {
  if (!isJsonObject(given)) throw badRequest(`The body must be an object, not ${typeName(given)}`)
  const from = textOf(given, 'from')
  if (from === undefined) throw badRequest('from field is required', null)
  const to = listOf(given, 'to')
  if (to.length === 0) throw badRequest('to field is required', null)
  const subject = textOf(given, 'subject')
  const templateId = textOf(given, 'template_id')
  if (subject === undefined && templateId === undefined)
    throw toApiError(refuse('subject_missing', {}))
  const html = maybeLargeOf(given, 'html')
  const text = maybeLargeOf(given, 'text')
  if (html === undefined && text === undefined && templateId === undefined) {
    throw badRequest('html, text or template_id is required', 'content_required')
  }
  if (html !== undefined && templateId !== undefined) {
    throw badRequest('template_id cannot be used together with html', null)
  }
  if (html !== undefined) orThrow(checkHtmlSize(bytesOf(html)))
  const [cc, bcc] = [listOf(given, 'cc'), listOf(given, 'bcc')]
  const count = to.length + cc.length + bcc.length
  if (count > limits.recipientsPerEmailMax) {
    const max = limits.recipientsPerEmailMax
    throw badRequest(`Too many recipients: ${count}. Maximum allowed is ${max}`, null)
  }
  const sender = parseMailbox(from)
  if (!sender) throw badRequest('Invalid email format in from field', null)
  return { from, sender, to, cc, bcc, subject, html, text, templateId, given }
}

/** A text; undefined if it is absent, null or empty. `within` names the object if it is not the body. */
export function textOf(given: JsonObject, field: string, within = ''): string | undefined {
  const value = given[field]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') {
    throw badRequest(`${within}${field} must be a string, not ${typeName(value)}`)
  }
  return value
}

/** Like `textOf`; a text of a large body comes as it was taken. */
function maybeLargeOf(given: JsonObject, field: string): string | LargeText | undefined {
  const value: unknown = given[field]
  return value instanceof LargeText ? value : textOf(given, field)
}

/** Its size in UTF-8. */
export const bytesOf = (text: string | LargeText): number =>
  text instanceof LargeText ? text.byteLength : Buffer.byteLength(text)

/** One text or several; an empty list if it is absent, null or empty. */
export function listOf(given: JsonObject, field: string): string[] {
  const value = given[field]
  if (value === undefined || value === null || value === '') return []
  if (typeof value === 'string') return [value]
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
  if (!Array.isArray(value)) {
    throw badRequest(`${field} must be a string or an array of strings, not ${typeName(value)}`)
  }
  const at = value.findIndex((item) => typeof item !== 'string')
  throw badRequest(`${field}[${at}] must be a string, not ${typeName(value[at])}`)
}

/** A JSON object of at most `limits.propertiesBytesMax` bytes; undefined if it is absent or null. @throws ApiError 400 */
export function objectOf(given: JsonObject, field: string): JsonObject | undefined {
  const value = given[field]
  if (value === undefined || value === null) return undefined
  if (!isJsonObject(value)) throw badRequest(`${field} must be an object, not ${typeName(value)}`)
  const fault = findJsonFault(value, limits.propertiesBytesMax)
  if (fault) throw badRequest(`${field} ${fault.message}`)
  return value
}

/** Checks an object of texts. The same object is returned, so that no key is lost. */
export function recordOf(given: JsonObject, field: string, max: number): Record<string, string> {
  const value = given[field]
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value)) {
    throw badRequest(`${field} must be an object of strings, not ${typeName(value)}`)
  }
  for (const [key, item] of Object.entries(value)) {
    if (typeof item === 'string') continue
    throw badRequest(`${field}.${shownText(key)} must be a string, not ${typeName(item)}`)
  }
  const count = Object.keys(value).length
  if (count > max) throw badRequest(`${field} must not exceed ${max} entries, has ${count}`)
  return value as Record<string, string>
}
