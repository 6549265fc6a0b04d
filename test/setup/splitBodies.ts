// Reads JSON in pieces, as a large body comes, and compares what became of it with what JSON.parse gives.
import * as fc from 'fast-check'
import { emailLargeFields } from '../../api/emails/largeFields.ts'
import { LargeBase64 } from '../../api/http/bodies/largeBase64.ts'
import { LargeText } from '../../api/http/bodies/largeText.ts'
import { Splitter } from '../../api/http/bodies/splitter.ts'
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import { isStorableText } from '../../rules/jsonFault.ts'
import { shown } from '../../rules/shown.ts'

/** Reads JSON text in pieces that end at the given places. @throws ApiError */
export function split(json: string | Buffer, cuts: readonly number[]): unknown {
  const bytes = Buffer.from(json)
  const splitter = new Splitter(emailLargeFields, bytes.length)
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  let from = 0
  for (const end of [...ends, bytes.length]) {
    splitter.push(bytes.subarray(from, end))
    from = end
  }
  return splitter.done()
}

/** What `split` gives for a body, made from what JSON.parse gives for it. */
export function expected(body: unknown): unknown {
  if (!isJsonObject(body)) return body
  const all: Record<string, unknown> = { ...body }
  for (const field of emailLargeFields.texts) {
    const value = body[field]
    if (typeof value !== 'string' || value === '') continue
    all[field] = largeTextOf(value)
  }
  const { attachments } = body
  if (!Array.isArray(attachments)) return all
  all['attachments'] = attachments.map((item) => {
    if (!isJsonObject(item) || typeof item['content'] !== 'string') return item
    return item['content'] === '' ? item : { ...item, content: largeBase64Of(item['content']) }
  })
  return all
}

export function largeTextOf(text: string): LargeText {
  const bytes = Buffer.from(text)
  return new LargeText(bytes, bytes.length, isStorableText(text))
}

export function largeBase64Of(text: string): LargeBase64 {
  // UTF-8 has no half of a pair; the mark in its place is as strange.
  const strange = /[^A-Za-z0-9+/=_\s-]/u.exec(text.replace(/\p{Cs}/gu, '\uFFFD'))?.[0]
  // Nothing is decoded once a character is strange: such an attachment is refused.
  const content = strange === undefined ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  const [, group = '', rest = ''] = /^([^=]*)(.*)$/su.exec(text.replace(/\s/gu, '')) ?? []
  const faults: [boolean, string][] = [
    [strange !== undefined, `base64, which has no ${shown(strange)}`],
    [/[^=]/.test(rest), 'one base64 text, and goes on after its ='],
    [group === '', 'base64, and holds nothing'],
    [group.length % 4 === 1, 'base64, and was cut: its last character stands alone'],
  ]
  const fault = faults.find(([holds]) => holds)?.[1]
  return new LargeBase64(content, Math.floor((group.length * 3) / 4), fault)
}

/**
 * The same without the content of attachments that are refused anyway, and with a text that came twice as it would be
 * if it had come once.
 */
export function comparable(body: unknown): unknown {
  if (!isJsonObject(body)) return body
  for (const field of emailLargeFields.texts) {
    const value = Object.hasOwn(body, field) ? body[field] : undefined
    if (typeof value === 'string' && value !== '') {
      Object.assign(body, { [field]: largeTextOf(value) })
    }
  }
  const list = Object.hasOwn(body, 'attachments') ? body['attachments'] : undefined
  if (!Array.isArray(list)) return body
  for (const item of list as unknown as JsonObject[]) {
    const content: unknown = isJsonObject(item) ? item['content'] : undefined
    if (!(content instanceof LargeBase64) || !content.fault?.includes('has no')) continue
    const { byteLength, fault } = content
    Object.assign(item, { content: new LargeBase64(Buffer.alloc(0), byteLength, fault) })
  }
  return body
}

/** Halves of pairs that stand in a text as they are cannot be sent: UTF-8 has none. */
export const whole = (json: string) => Buffer.from(json).toString()

export const units = fc.string({
  unit: fc.constantFrom(
    'a',
    '"',
    '\\',
    '/',
    '\n',
    '\u0000',
    'é',
    '€',
    '😀',
    '\ud83d',
    '\ude00',
    '\u2028',
    '=',
    ' ',
  ),
  maxLength: 30,
})
