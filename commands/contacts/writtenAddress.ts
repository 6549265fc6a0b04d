// The ways to write an address in the header of a message that are read as that address.
import { domainToASCII } from 'node:url'
import { addressParser, decodeWords } from 'postal-mime'
import { addressPattern, anyOf } from '../../db/contacts/spelledAddress.ts'
import { escapedPattern } from '../../rules/escapedPattern.ts'
import { addressPart } from '../../rules/mail/addressList.ts'

/** What the part of another address before theirs may end with; an apostrophe too, where something stands before it. */
const LOCAL = '[a-z0-9!#$%&*+/=?^_`{|}~.\\x80-\\uffff-]'
/** What would make its domain a longer one. */
const LONGER = '[a-z0-9\\x80-\\uffff-]|\\.[a-z0-9\\x80-\\uffff-]'

/** Of a longer entry nobody reads an address, and to read it would take long. */
const ENTRY_CHARS_MAX = 8_000

export interface WrittenAddress {
  /** Whether an entry of a list of addresses is this address. */
  isThis: (entry: string) => boolean
  /** Whether a text of a header holds it: in quotes, in a comment, in encoded words. */
  isIn: (text: string) => boolean
  /** Matches it wherever it stands as it is. */
  pattern: RegExp
}

/** Texts are bytes, a character for each. @param email in lower case */
export function writtenAddress(email: string): WrittenAddress {
  const spelled = spellingsOf(email)
  const whole = (pattern: string) => new RegExp(`(?<!${LOCAL}'?)${pattern}(?!${LONGER})`, 'gi')
  const inText = new RegExp(whole(spelled.text), 'i')
  const local = email.slice(0, email.lastIndexOf('@'))
  // Most entries of a long list are of others, and to read each of them would take long.
  const mayBeIn = (text: string) =>
    text.length <= ENTRY_CHARS_MAX &&
    (/=\?|\(/.test(text) ||
      text
        .replace(/[" \\\t\r\n]+/g, '')
        .toLowerCase()
        .includes(local))
  return {
    isThis: (entry) => mayBeIn(entry) && readAs(entry).includes(email),
    isIn: (text) => mayBeIn(text) && inText.test(decodeWords(unfolded(text)).normalize('NFC')),
    pattern: whole(spelled.bytes),
  }
}

/** The addresses as which readers may read an entry, in lower case: by the book, and as a lenient one does. */
function readAs(entry: string): string[] {
  const [, inBrackets] = /^<(?:@[^:]*:)?(.*)>$/s.exec(addressPart(entry)) ?? []
  const strict = inBrackets ?? addressPart(entry)
  const lenient = addressParser(unfolded(entry), { flatten: true }).map((one) => one.address ?? '')
  return [utf8Of(strict), ...lenient].map(plainAddress)
}

/** Without quotes before `@`, nor a final dot; with the domain in ASCII. */
function plainAddress(address: string): string {
  const at = address.lastIndexOf('@')
  const local = address
    .slice(0, Math.max(at, 0))
    .replace(/"((?:[^"\\]|\\.)*)"/gs, (_, quoted: string) => quoted.replace(/\\(.)/gs, '$1'))
  const domain = address.slice(at + 1).replace(/\.$/, '')
  return `${local}@${domainToASCII(domain) || domain}`.toLowerCase()
}

const utf8Of = (bytes: string): string => Buffer.from(bytes, 'latin1').toString()

const unfolded = (bytes: string): string => utf8Of(bytes.replaceAll('\r\n', ''))

/** Patterns of its spellings: in a text, and in its bytes. */
function spellingsOf(email: string): { text: string; bytes: string } {
  const written = (ofForm: (form: string) => string) =>
    addressPattern(email, (forms) => anyOf(forms.map((form) => escapedPattern(ofForm(form)))))
  return {
    text: written((form) => form),
    bytes: written((form) => Buffer.from(form).toString('latin1')),
  }
}
