// Makes the header of a message (RFC 5322, RFC 2047).
import { encodeWord, foldLines } from 'nodemailer/lib/mime-funcs'
import {
  holdsWordMark,
  isReservedHeader,
  isStructuredHeader,
  UNDISCLOSED_RECIPIENTS,
} from '../../rules/mail/headers.ts'
import type { Field } from '../dkim/canonical.ts'
import type { ComposeInput, MailAddress } from './input.ts'

const headerName = /^[\x21-\x39\x3b-\x7e]{1,100}$/
const idHeaders = /^(in-reply-to|references)$/

/** What automatic mail says to those who answer by themselves; the second is Exchange's. */
const automaticHeaders = [
  ['Auto-Submitted', 'auto-generated'],
  ['X-Auto-Response-Suppress', 'OOF, AutoReply'],
] as const

/** Longest word in a line of 998 characters, which leaves room for the header's name. */
const TOKEN_CHARS_MAX = 800
const ENCODED_WORD_CHARS = 52
const LINE_CHARS = 76

const plainText = /^[\t\x20-\x7e]*$/
/** Folded, so many spaces would fill a line of their own, which careless readers take for the end of the header. */
const manySpaces = /\s{16}/
const dotAtomAddress =
  /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@[a-z0-9-]+(\.[a-z0-9-]+)*$/
const visibleAscii = /^[\x21-\x7e]+$/

/**
 * The header fields except those that describe the content. All of them are ASCII.
 * @throws Error for an address that is not an ASCII dot-atom, or a message id with other characters than visible ASCII
 */
export function headerFields(email: ComposeInput): Field[] {
  if (!visibleAscii.test(email.messageId)) throw new Error('a message id is not visible ASCII')
  const fields = [
    ...addressField('From', [email.from]),
    ...(isToNobody(email) ? [field('To', UNDISCLOSED_RECIPIENTS)] : addressField('To', email.to)),
    ...addressField('Cc', email.cc),
    ...addressField('Reply-To', email.replyTo),
    field('Date', email.date.toUTCString().replace('GMT', '+0000')),
    field('Message-ID', `<${email.messageId}>`),
  ]
  for (const [key, value] of contentHeaders(email)) {
    if (value.trim() !== '') fields.push(field(key, value))
  }
  fields.push({ name: 'mime-version', raw: 'MIME-Version: 1.0' })
  return fields
}

/** Subject, the caller's own headers, and those of bulk mail, with their encoded values. */
function contentHeaders(email: ComposeInput): [key: string, value: string][] {
  const headers: [string, string][] = [['Subject', encodeText(email.subject)]]
  const automatic = listAutomatic(email)
  const serviceOwned = automatic.map(([key]) => key.toLowerCase())
  for (const [key, value] of Object.entries(email.headers)) {
    const name = key.toLowerCase()
    // The key itself is looked at: letters outside ASCII may become ASCII in lower case.
    if (isReservedHeader(name) || !headerName.test(key)) continue
    // The request's own header stays if the service sets none.
    if (email.unsubscribe !== null && name.startsWith('list-unsubscribe')) continue
    if (serviceOwned.includes(name)) continue
    if (idHeaders.test(name)) headers.push([key, messageIds(value)])
    else headers.push([key, isVerbatim(name, value) ? verbatim(value) : encodeText(value)])
  }
  if (email.unsubscribe !== null) {
    const { url, mailto } = email.unsubscribe
    const ways = mailto === undefined ? `<${url}>` : `<${url}>, <mailto:${mailto}>`
    headers.push(['List-Unsubscribe', verbatim(ways)])
    headers.push(['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'])
  }
  if (email.feedbackId !== null) headers.push(['Feedback-ID', verbatim(email.feedbackId)])
  return [...headers, ...automatic]
}

function listAutomatic({ automatic }: ComposeInput): [key: string, value: string][] {
  if (automatic === 'no') return []
  const headers = automaticHeaders.map(([key, value]): [string, string] => [key, value])
  return automatic === 'bulk' ? [...headers, ['Precedence', 'bulk']] : headers
}

/** Those whom it named were erased, and others get it as a hidden copy. Servers may refuse mail, or distrust it, that names no recipient at all. */
const isToNobody = ({ to, cc }: ComposeInput): boolean => to.length === 0 && cc.length === 0

function field(key: string, value: string): Field {
  const line = `${key}: ${value}`
  const raw = line.length <= LINE_CHARS ? line : foldLines(line, LINE_CHARS)
  return { name: key.toLowerCase(), raw: raw.trimEnd() }
}

function addressField(key: string, list: MailAddress[]): Field[] {
  return list.length === 0 ? [] : [field(key, list.map(mailbox).join(', '))]
}

function mailbox({ name, address }: MailAddress): string {
  if (!dotAtomAddress.test(address)) throw new Error('an address is not an ASCII dot-atom')
  return name ? `${displayName(name)} <${address}>` : address
}

function displayName(name: string): string {
  const text = name.replace(/[\r\n]+/g, ' ')
  if (needsWords(text) || text.includes('\t')) return encodeAll(text)
  return /^[\w ]*$/.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** Encodes free text, so that a reader shows exactly this text on one line. */
function encodeText(text: string): string {
  const line = text.replace(/[\r\n]+/g, ' ')
  return needsWords(line) ? encodeAll(line) : line
}

/**
 * True for text that must become encoded words: it is not ASCII, could be taken for encoded words itself, could not be
 * folded (there are no spaces in it), or would be folded into blank lines.
 */
function needsWords(text: string): boolean {
  if (!plainText.test(text) || holdsWordMark(text) || manySpaces.test(text)) return true
  return hasLongWord(text)
}

const hasLongWord = (text: string): boolean =>
  text.length > TOKEN_CHARS_MAX && text.split(/[ \t]/).some((word) => word.length > TOKEN_CHARS_MAX)

const encodeAll = (text: string): string => encodeWord(text, wordEncoding(text), ENCODED_WORD_CHARS)

/** Q if most of the text stays readable, otherwise B. */
function wordEncoding(text: string): 'Q' | 'B' {
  const latin = text.match(/[A-Za-z]/g)?.length ?? 0
  return text.length - (text.match(/[\t\n\r\x20-\x7e]/g)?.length ?? 0) < latin ? 'Q' : 'B'
}

/** Message ids, each in angle brackets. Encoded words are not allowed among them, so nothing like one stays. */
function messageIds(text: string): string {
  const ids = text.replace(/[^\x20-\x7e]/g, ' ').split(/[\s<>]+/)
  return ids
    .filter((id) => id !== '' && id.length <= TOKEN_CHARS_MAX - 2 && !holdsWordMark(id))
    .map((id) => `<${id}>`)
    .join(' ')
}

/** Whether a value has a structure in which encoded words mean nothing, and can go as it is. */
const isVerbatim = (name: string, value: string): boolean =>
  isStructuredHeader(name) && !holdsWordMark(value) && !hasLongWord(value)

/** A structured value that must not become encoded words. It is folded only at spaces. */
function verbatim(value: string): string {
  // Other characters than visible ASCII and single spaces would end the header or need an encoding.
  return value.replace(/[^\x20-\x7e]/g, '').replace(/ +/g, ' ')
}
