// Makes the header of a message (RFC 5322, RFC 2047).
import { encodeWord, encodeWords, foldLines } from 'nodemailer/lib/mime-funcs'
import { isReservedHeader } from '../../rules/mail/headers.ts'
import type { Field } from '../dkim/sign.ts'
import type { ComposeInput, MailAddress } from './input.ts'

const headerName = /^[\x21-\x39\x3b-\x7e]{1,100}$/
/** Headers of a request whose value has a structure and is not free text. */
const structuredHeaders = /^(sender|otp-token|resent-.*)$/
const idHeaders = /^(in-reply-to|references)$/

/** Longest word in a line of 998 characters, which leaves room for the header's name. */
const TOKEN_CHARS_MAX = 800
const ENCODED_WORD_BYTES = 45
const ENCODED_WORD_CHARS = 52
const LINE_CHARS = 76

const plainText = /^[\t\x20-\x7e]*$/
const dotAtomAddress =
  /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@[a-z0-9-]+(\.[a-z0-9-]+)*$/
const visibleAscii = /^[\x21-\x7e]+$/

type HeaderValue = string | { prepared: true; foldLines: true; value: string }

/**
 * The header fields except those that describe the content. Null if the header is unusual (an address that is not
 * an ASCII dot-atom, a structured header of the request): then nodemailer writes it.
 */
export function headerFields(email: ComposeInput): Field[] | null {
  const lists = [email.to, email.cc, email.replyTo, [email.from]]
  if (!lists.every((list) => list.every(({ address }) => dotAtomAddress.test(address)))) return null
  if (!visibleAscii.test(email.messageId)) return null
  const fields = [
    field('From', addressList([email.from])),
    ...addressField('To', email.to),
    ...addressField('Cc', email.cc),
    ...addressField('Reply-To', email.replyTo),
    field('Date', email.date.toUTCString().replace('GMT', '+0000')),
    field('Message-ID', `<${email.messageId}>`),
  ]
  for (const { key, value } of contentHeaders(email)) {
    const name = key.toLowerCase()
    const text = typeof value === 'string' ? value : value.value
    if (text.trim() === '') continue
    if (structuredHeaders.test(name)) return null
    fields.push(field(key, encodeText(text)))
  }
  fields.push({ name: 'mime-version', raw: 'MIME-Version: 1.0' })
  return fields
}

/** Subject, the caller's own headers, and those of bulk mail. */
export function contentHeaders(email: ComposeInput): { key: string; value: HeaderValue }[] {
  const headers = [{ key: 'Subject', value: headerValue(email.subject) }]
  for (const [key, value] of Object.entries(email.headers)) {
    const name = key.toLowerCase()
    if (isReservedHeader(name) || !headerName.test(name)) continue
    // The request's own header stays if the service sets none.
    if (email.unsubscribe !== null && name.startsWith('list-unsubscribe')) continue
    const text = idHeaders.test(name) ? messageIds(value) : value
    if (text.trim() !== '') headers.push({ key, value: headerValue(text) })
  }
  if (email.unsubscribe !== null) {
    const { url, mailto } = email.unsubscribe
    const ways = mailto === undefined ? `<${url}>` : `<${url}>, <mailto:${mailto}>`
    headers.push({ key: 'List-Unsubscribe', value: verbatim(ways) })
    headers.push({
      key: 'List-Unsubscribe-Post',
      value: verbatim('List-Unsubscribe=One-Click'),
    })
  }
  if (email.feedbackId !== null) {
    headers.push({ key: 'Feedback-ID', value: verbatim(email.feedbackId) })
  }
  return headers
}

function field(key: string, value: string): Field {
  const line = `${key}: ${value}`
  const raw = line.length <= LINE_CHARS ? line : foldLines(line, LINE_CHARS)
  return { name: key.toLowerCase(), raw: raw.trimEnd() }
}

function addressField(key: string, list: MailAddress[]): Field[] {
  return list.length === 0 ? [] : [field(key, addressList(list))]
}

function addressList(list: MailAddress[]): string {
  return list
    .map(({ name, address }) => (name ? `${displayName(name)} <${address}>` : address))
    .join(', ')
}

function displayName(name: string): string {
  const text = name.replace(/[\r\n]+/g, ' ')
  if (/^[\w ]*$/.test(text)) return text
  if (/^[\x20-\x7e]*$/.test(text)) return `"${text.replace(/["\\]/g, '\\$&')}"`
  return encodeWord(text, wordEncoding(text), ENCODED_WORD_CHARS)
}

/** Encodes free text: encoded words if it is not ASCII; text that is already encoded stays so. */
function encodeText(text: string): string {
  if (!plainText.test(text)) return encodeWord(text, wordEncoding(text), ENCODED_WORD_CHARS)
  return text.includes('=?') ? encodeWords(text, 'Q', ENCODED_WORD_CHARS) : text
}

/** Q if most of the text stays readable, otherwise B. */
function wordEncoding(text: string): 'Q' | 'B' {
  const latin = text.match(/[A-Za-z]/g)?.length ?? 0
  return text.length - (text.match(/[\t\n\r\x20-\x7e]/g)?.length ?? 0) < latin ? 'Q' : 'B'
}

/** Message ids, each in angle brackets. Encoded words are not allowed among them. */
function messageIds(text: string): string {
  const ids = text.replace(/[^\x20-\x7e]/g, ' ').split(/[\s<>]+/)
  return ids
    .filter((id) => id !== '' && id.length <= TOKEN_CHARS_MAX - 2)
    .map((id) => `<${id}>`)
    .join(' ')
}

/** A structured value that must not become encoded words. It is folded only at spaces. */
function verbatim(value: string): HeaderValue {
  // other characters than visible ASCII and space would end the header or need an encoding
  return { prepared: true, foldLines: true, value: value.replace(/[^\x20-\x7e]/g, '') }
}

/** A header value. It is folded only at spaces, so text with an overlong word becomes encoded words (RFC 2047). */
function headerValue(text: string): HeaderValue {
  const value = text.replace(/[\r\n]+/g, ' ')
  if (value.length <= TOKEN_CHARS_MAX) return value
  if (!value.split(/[ \t]/).some((word) => word.length > TOKEN_CHARS_MAX)) return value
  const words: string[] = []
  let word = ''
  for (const character of value) {
    if (Buffer.byteLength(word + character) > ENCODED_WORD_BYTES) {
      words.push(word)
      word = ''
    }
    word += character
  }
  words.push(word)
  const encoded = words.map((part) => `=?UTF-8?B?${Buffer.from(part).toString('base64')}?=`)
  return { prepared: true, foldLines: true, value: encoded.join(' ') }
}
