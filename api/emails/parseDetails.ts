// Checks what the contract leaves open of POST /v1/emails: addresses, headers, attachments, tags.

import type { Attachment } from '../../commands/emails/newEmail.ts'
import { parseMailbox } from '../../rules/addresses.ts'
import { isJsonObject, type Json, type JsonObject } from '../../rules/json.ts'
import { isStorableText } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { isReservedHeader } from '../../rules/mail/headers.ts'
import { refuse } from '../../rules/refusals.ts'
import { ApiError, badRequest } from '../http/errors.ts'
import { toApiError } from '../http/refusals.ts'
import { listOf, objectOf, type SendEmailBody, textOf } from './parseBody.ts'

export interface SendEmailDetails {
  /** Bare addresses of to, cc and bcc, each once. */
  recipients: string[]
  replyTo: string[]
  headers: Record<string, string>
  tags: Record<string, string>
  metadata: JsonObject
  variables: JsonObject | undefined
  attachments: Attachment[]
  /** Over what the domain says. */
  tracking: { opens?: boolean; clicks?: boolean }
}

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,76}$/
const CONTROL = /\p{Cc}/u
const LINE_BREAK = /[\r\n\u2028\u2029]/

/**
 * Reads the rest of a body whose first checks passed.
 * @throws ApiError 400 that names the field
 */
export function readDetails(body: SendEmailBody): SendEmailDetails {
  const { given, subject } = body
  if (given['scheduled_at'] !== undefined && given['scheduled_at'] !== null) {
    const text = 'scheduled_at is not available: this service sends at once'
    throw badRequest(text, 'scheduling_not_available')
  }
  const recipients = readRecipients(body)
  const replyTo = listOf(given, 'reply_to')
  if (replyTo.length > limits.recipientsPerEmailMax || !replyTo.every(parseMailbox)) {
    throw badRequest('Invalid email format in reply_to field', 'invalid_address')
  }
  if (subject !== undefined) {
    if (subject.length > limits.subjectCharsMax) {
      throw toApiError(refuse('subject_too_long', {}))
    }
    if (LINE_BREAK.test(subject)) throw badRequest('subject must not contain line breaks')
  }
  for (const field of ['subject', 'html', 'text'] as const) {
    const text = body[field]
    if (text !== undefined && !isStorableText(text)) {
      throw badRequest(`${field} must not hold a NUL character or half of a surrogate pair`)
    }
  }
  if (body.text !== undefined && Buffer.byteLength(body.text) > limits.htmlBytesMax) {
    throw badRequest('text exceeds maximum of 40MB', 'text_too_large')
  }
  return {
    recipients,
    replyTo,
    headers: readHeaders(given),
    tags: readTags(given),
    metadata: objectOf(given, 'metadata') ?? {},
    variables: objectOf(given, 'variables'),
    attachments: readAttachments(given),
    tracking: readTracking(given),
  }
}

function readRecipients(body: SendEmailBody): string[] {
  const addresses = new Set<string>()
  for (const field of ['to', 'cc', 'bcc'] as const) {
    for (const text of body[field]) {
      const mailbox = parseMailbox(text)
      if (!mailbox) throw badRequest(`Invalid email format in ${field} field`, 'invalid_address')
      addresses.add(mailbox.address)
    }
  }
  return [...addresses]
}

/** An object of texts; the same object comes back, so that no key is lost. */
function recordOf(given: JsonObject, field: string, max: number): Record<string, string> {
  const value = given[field]
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value) || !isTextRecord(value)) {
    throw badRequest(`${field} must be an object of strings`)
  }
  if (Object.keys(value).length > max) throw badRequest(`${field} must not exceed ${max} entries`)
  return value
}

function isTextRecord(value: Record<string, Json>): value is Record<string, string> {
  return Object.values(value).every((item) => typeof item === 'string')
}

function readHeaders(given: JsonObject): Record<string, string> {
  const headers = recordOf(given, 'headers', limits.headersPerEmailMax)
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) throw badRequest('headers: a name is not valid', 'invalid_header')
    if (isReservedHeader(name)) {
      throw badRequest(`headers: ${name} is set by the service`, 'reserved_header')
    }
    if (seen.has(name.toLowerCase())) {
      throw badRequest(`headers: ${name} is given twice`, 'invalid_header')
    }
    seen.add(name.toLowerCase())
    if (value.length > limits.subjectCharsMax || CONTROL.test(value) || LINE_BREAK.test(value)) {
      throw badRequest(`headers: the value of ${name} is not valid`, 'invalid_header')
    }
    if (!isStorableText(value)) {
      throw badRequest(`headers: the value of ${name} is not valid`, 'invalid_header')
    }
  }
  return headers
}

function readTags(given: JsonObject): Record<string, string> {
  const tags = recordOf(given, 'tags', limits.tagsPerEmailMax)
  for (const [key, value] of Object.entries(tags)) {
    for (const text of [key, value]) {
      if (text.length > limits.nameCharsMax || !isStorableText(text)) {
        throw badRequest(
          `tags: keys and values are texts of up to ${limits.nameCharsMax} characters`,
        )
      }
    }
  }
  return tags
}

function readTracking(given: JsonObject): SendEmailDetails['tracking'] {
  const value = given['tracking']
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value)) throw badRequest('tracking must be an object')
  const tracking: SendEmailDetails['tracking'] = {}
  for (const field of ['opens', 'clicks'] as const) {
    const wanted = value[field]
    if (wanted === undefined || wanted === null) continue
    if (typeof wanted !== 'boolean') throw badRequest(`tracking.${field} must be a boolean`)
    tracking[field] = wanted
  }
  return tracking
}

function readAttachments(given: JsonObject): Attachment[] {
  const value = given['attachments']
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw badRequest('attachments must be an array')
  if (value.length > limits.attachmentsPerEmailMax) {
    throw badRequest(`attachments must not exceed ${limits.attachmentsPerEmailMax} files`)
  }
  let bytes = 0
  const contents = value.map((item, index) => {
    const field = `attachments.${index}`
    if (!isJsonObject(item)) throw badRequest(`${field} must be an object`)
    const content = textOf(item, 'content', `${field}.`) ?? ''
    bytes += Buffer.byteLength(content, 'base64')
    return { field, item, content }
  })
  // Before anything is decoded: the sum alone may be over the limit.
  if (bytes > limits.attachmentsBytesMax) {
    throw new ApiError(400, 'attachments_too_large', 'attachments together exceed 25MB')
  }
  return contents.map(({ field, item, content }) => readAttachment(field, item, content))
}

function readAttachment(field: string, item: JsonObject, content: string): Attachment {
  const filename = textOf(item, 'filename', `${field}.`)
  if (filename === undefined) throw badRequest(`${field}.filename is required`)
  if (
    filename.length > limits.nameCharsMax ||
    CONTROL.test(filename) ||
    !isStorableText(filename)
  ) {
    throw badRequest(`${field}.filename is not valid`)
  }
  if (content === '') throw badRequest(`${field}.content is required`)
  if (/[^A-Za-z0-9+/=_\s-]/.test(content)) throw badRequest(`${field}.content must be base64`)
  const type = textOf(item, 'content_type', `${field}.`)
  if (
    type !== undefined &&
    !/^[\w.+-]{1,100}\/[\w.+-]{1,100}(; ?[\w.+-]+=[\w.+"-]+)*$/.test(type)
  ) {
    throw badRequest(`${field}.content_type is not valid`)
  }
  const id = textOf(item, 'content_id', `${field}.`)
  if (id !== undefined && !/^[\x21-\x3b\x3d\x3f-\x7e]{1,255}$/.test(id)) {
    throw badRequest(`${field}.content_id is not valid`)
  }
  return {
    filename,
    content: Buffer.from(content, 'base64'),
    content_type: type ?? null,
    content_id: id ?? null,
  }
}
