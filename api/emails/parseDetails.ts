// Further checks of POST /v1/emails that the contract does not define: addresses, headers, attachments, tags.

import type { Attachment } from '../../commands/emails/newEmail.ts'
import { type Mailbox, parseMailbox } from '../../rules/addresses.ts'
import { addressAdvice } from '../../rules/asciiDomains.ts'
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import { isStorableText } from '../../rules/jsonFault.ts'
import { limits, MEBIBYTE } from '../../rules/limits.ts'
import { holdsWordMark } from '../../rules/mail/headers.ts'
import { readScheduledAt } from '../../rules/mail/scheduledAt.ts'
import { isOneLine, turnsAround } from '../../rules/oneLine.ts'
import { refuse } from '../../rules/refusals.ts'
import { shown, typeName } from '../../rules/shown.ts'
import { lookAtBase64 } from '../http/bodies/base64Look.ts'
import { LargeBase64 } from '../http/bodies/largeBase64.ts'
import { LargeText } from '../http/bodies/largeText.ts'
import { badRequest } from '../http/errors.ts'
import { toApiError } from '../http/refusals.ts'
import { bytesOf, listOf, objectOf, recordOf, type SendEmailBody, textOf } from './parseBody.ts'
import { readHeaders } from './parseHeaders.ts'

export interface SendEmailDetails {
  /** The time that is asked for, in ms; null: none is. */
  scheduledAt: number | null
  /** Bare addresses of to, cc and bcc, each once. */
  recipients: string[]
  replyTo: string[]
  headers: Record<string, string>
  tags: Record<string, string>
  metadata: JsonObject
  variables: JsonObject | undefined
  attachments: Attachment[]
  /** Overrides the settings of the domain. */
  tracking: { opens?: boolean; clicks?: boolean }
}

/**
 * Reads the other fields of a body after the contract's checks.
 * @throws ApiError 400 that names the field
 */
export function readDetails(body: SendEmailBody, now: Date): SendEmailDetails {
  const { given, subject } = body
  const scheduled = readScheduledAt(given['scheduled_at'], now.getTime())
  if ('fault' in scheduled) throw badRequest(scheduled.fault)
  const recipients = readRecipients(body)
  const replyTo = listOf(given, 'reply_to')
  if (replyTo.length > limits.recipientsPerEmailMax) {
    const max = limits.recipientsPerEmailMax
    const text = `reply_to must not exceed ${max} addresses, has ${replyTo.length}`
    throw badRequest(text, 'invalid_address')
  }
  for (const [i, text] of replyTo.entries()) readMailbox(given, 'reply_to', i, text)
  if (subject !== undefined) {
    if (subject.length > limits.subjectCharsMax) {
      throw toApiError(refuse('subject_too_long', { chars: subject.length }))
    }
    if (!isOneLine(subject)) {
      throw badRequest('subject must not hold line breaks or other control characters')
    }
  }
  for (const field of ['subject', 'html', 'text'] as const) {
    const text = body[field]
    if (text !== undefined && !isStorable(text)) {
      throw badRequest(`${field} must not hold a NUL character or half of a surrogate pair`)
    }
  }
  const text_bytes = body.text === undefined ? 0 : bytesOf(body.text)
  if (text_bytes > limits.htmlBytesMax) {
    throw badRequest(textTooLarge(text_bytes), 'text_too_large')
  }
  return {
    scheduledAt: scheduled.at,
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
    for (const [i, text] of body[field].entries()) {
      addresses.add(readMailbox(body.given, field, i, text).address)
    }
  }
  return [...addresses]
}

/** Reads one address of a field. In errors it has its index if the field is a list. */
function readMailbox(given: JsonObject, field: string, index: number, text: string): Mailbox {
  const mailbox = parseMailbox(text)
  if (mailbox) return mailbox
  const place = Array.isArray(given[field]) ? `${field}[${index}]` : field
  const form = `one address such as ada@example.com, or Ada <ada@example.com>${addressAdvice(text)}`
  throw badRequest(`${place} must be ${form}, not ${shown(text)}`, 'invalid_address')
}

const isStorable = (text: string | LargeText): boolean =>
  text instanceof LargeText ? text.isStorable : isStorableText(text)

function textTooLarge(text_bytes: number): string {
  const size = (text_bytes / MEBIBYTE).toFixed(2)
  return `text must not exceed ${limits.htmlBytesMax / MEBIBYTE}MB, has ${size}MB`
}

function readTags(given: JsonObject): Record<string, string> {
  const tags = recordOf(given, 'tags', limits.tagsPerEmailMax)
  for (const [key, value] of Object.entries(tags)) {
    for (const text of [key, value]) {
      if (text.length > limits.nameCharsMax || !isStorableText(text)) {
        const form = `up to ${limits.nameCharsMax} characters without NUL`
        throw badRequest(`tags: keys and values must be ${form}, not ${shown(text)}`)
      }
    }
  }
  return tags
}

function readTracking(given: JsonObject): SendEmailDetails['tracking'] {
  const value = given['tracking']
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value)) throw badRequest(`tracking must be an object, not ${typeName(value)}`)
  const tracking: SendEmailDetails['tracking'] = {}
  for (const field of ['opens', 'clicks'] as const) {
    const wanted = value[field]
    if (wanted === undefined || wanted === null) continue
    if (typeof wanted !== 'boolean') {
      throw badRequest(`tracking.${field} must be true or false, not ${shown(wanted)}`)
    }
    tracking[field] = wanted
  }
  return tracking
}

function readAttachments(given: JsonObject): Attachment[] {
  const value = given['attachments']
  if (value === undefined || value === null) return []
  if (!Array.isArray(value))
    throw badRequest(`attachments must be an array, not ${typeName(value)}`)
  if (value.length > limits.attachmentsPerEmailMax) {
    const max = limits.attachmentsPerEmailMax
    throw badRequest(`attachments must not exceed ${max} files, has ${value.length}`)
  }
  let bytes = 0
  const contents = value.map((item, index) => {
    const field = `attachments[${index}]`
    if (!isJsonObject(item)) throw badRequest(`${field} must be an object, not ${typeName(item)}`)
    const content = contentOf(item, field)
    const look = content instanceof LargeBase64 ? content : lookAtBase64(content)
    bytes += look.byteLength
    return { field, item, content, fault: look.fault }
  })
  // Checked before anything is decoded, because the sum may be over the limit.
  if (bytes > limits.attachmentsBytesMax) {
    const [max, size] = [limits.attachmentsBytesMax / MEBIBYTE, (bytes / MEBIBYTE).toFixed(2)]
    const text = `attachments together must not exceed ${max}MB, have ${size}MB`
    throw badRequest(text, 'attachments_too_large')
  }
  return contents.map(({ fault, ...rest }) => readAttachment(rest, fault))
}

/** The base64 of an attachment; one of a large body comes decoded. */
function contentOf(item: JsonObject, field: string): string | LargeBase64 {
  const value: unknown = item['content']
  return value instanceof LargeBase64 ? value : (textOf(item, 'content', `${field}.`) ?? '')
}

/** @param fault what is wrong with its base64 */
function readAttachment(
  { field, item, content }: { field: string; item: JsonObject; content: string | LargeBase64 },
  fault: string | undefined,
): Attachment {
  const filename = textOf(item, 'filename', `${field}.`)
  if (filename === undefined) throw badRequest(`${field}.filename is required`)
  if (
    filename.length > limits.nameCharsMax ||
    !isOneLine(filename) ||
    turnsAround(filename) ||
    !isStorableText(filename)
  ) {
    const form = `1-${limits.nameCharsMax} characters without line breaks, control characters and marks that turn text around`
    throw badRequest(`${field}.filename must be ${form}, not ${shown(filename)}`)
  }
  if (content === '') throw badRequest(`${field}.content is required`)
  if (fault !== undefined) throw badRequest(`${field}.content must be ${fault}`)
  const type = textOf(item, 'content_type', `${field}.`)
  if (
    type !== undefined &&
    !/^[\w.+-]{1,100}\/[\w.+-]{1,100}(; ?[\w.+-]+=[\w.+"-]+)*$/.test(type)
  ) {
    const form = 'a media type such as application/pdf'
    throw badRequest(`${field}.content_type must be ${form}, not ${shown(type)}`)
  }
  const id = textOf(item, 'content_id', `${field}.`)
  if (id !== undefined && (!/^[\x21-\x3b\x3d\x3f-\x7e]{1,255}$/.test(id) || holdsWordMark(id))) {
    const form = '1-255 visible ASCII characters other than < and >, without =?'
    throw badRequest(`${field}.content_id must be ${form}, not ${shown(id)}`)
  }
  return {
    filename,
    content: content instanceof LargeBase64 ? content.content : Buffer.from(content, 'base64'),
    content_type: type ?? null,
    content_id: id ?? null,
  }
}
