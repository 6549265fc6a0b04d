// Takes an address out of the header of a message that goes to others yet.
import { domainToUnicode } from 'node:url'
import { escapedPattern } from '../../rules/escapedPattern.ts'

const HEADER_END = Buffer.from('\r\n\r\n')
/** Fields that say to whom it goes, with their further lines. From, Reply-To and what others are asked to follow stay. */
const RECIPIENTS = /^(?:resent-)?(?:to|cc|bcc)[ \t]*:.*(?:\r\n[ \t].*)*/gim
/** What the part of another address before theirs may end with; an apostrophe too, where something stands before it. */
const LOCAL = '[a-z0-9!#$%&*+/=?^_`{|}~.\\x80-\\xff-]'

/**
 * The start of a message whose recipients name the address no more: it has `x` in its place, so that the message keeps its length and the
 * header its form. Longer addresses that hold it stay. @returns null if they do not name it @param email in lower case
 */
export function blankHeader(start: Buffer, email: string): Buffer | null {
  const end = start.indexOf(HEADER_END)
  const header = start.subarray(0, end === -1 ? start.length : end).toString('latin1')
  const whole = `(?<!${LOCAL}'?)${writtenAs(email)}(?![a-z0-9\\x80-\\xff-]|\\.[a-z0-9\\x80-\\xff-])`
  const pattern = new RegExp(whole, 'gi')
  const blank = (address: string) => address.replace(/[^@."]/g, 'x')
  const without = header.replace(RECIPIENTS, (field) => field.replace(pattern, blank))
  if (without === header) return null
  return Buffer.concat([Buffer.from(without, 'latin1'), start.subarray(header.length)])
}

/** A pattern of the ways to write an address that are read as this one: with quotes around what is before `@`, and its domain in Unicode. */
function writtenAs(email: string): string {
  const at = email.lastIndexOf('@')
  const domain = email.slice(at + 1)
  const local = bytesPattern(email.slice(0, at))
  // Empty where the domain stands for no Unicode.
  const unicode = [...(domainToUnicode(domain) || domain)].map(letterPattern).join('')
  return `(?:${local}|"${local}")@(?:${bytesPattern(domain)}|${unicode})`
}

/** Either case, composed or not: the pattern ignores the case of ASCII alone. */
function letterPattern(letter: string): string {
  const cases = [letter, letter.toUpperCase()]
  const forms = cases.flatMap((one) => [one.normalize('NFC'), one.normalize('NFD')])
  return `(?:${[...new Set(forms)].map(bytesPattern).join('|')})`
}

/** Of bytes, since the start of a message may end in the middle of a letter. */
const bytesPattern = (text: string): string => escapedPattern(Buffer.from(text).toString('latin1'))
