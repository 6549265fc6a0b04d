// Reads the addresses of a message's header and of its envelope.
import { addressParser, decodeWords } from 'postal-mime'
import { type Mailbox, parseMailbox } from '../../rules/addresses.ts'
import { isStorableText } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { toAscii } from '../toAscii.ts'

/** A mailbox may have at most a third of it; what is longer is not looked at. */
const FROM_CHARS_MAX = 2_000

/**
 * One mailbox: an address, with a phrase before it in angle brackets. Nothing that a careless reader could take for another
 * address: no list, no comment, no route. No two repetitions beside each other take the same character, so that it reads
 * every text once.
 */
const ONE_MAILBOX =
  /^(?:("(?:[^"\\]|\\.)*"\s*|[^"()<>[\]:;@\\,]*)<([^<>\s]+)>|([^"()<>[\]:;\\,\s]+))$/

/**
 * Reads From. The phrase may be quoted, or have encoded words, and is only shown.
 * @returns null unless it is exactly one mailbox with an address of ASCII
 */
export function readFrom(value: string): (Mailbox & { shown: string }) | null {
  if (value.length > FROM_CHARS_MAX) return null
  const match = ONE_MAILBOX.exec(value.trim())
  if (!match) return null
  const [, phrase = '', inBrackets, bare] = match
  const mailbox = parseMailbox(toAscii(inBrackets ?? bare ?? ''))
  if (!mailbox) return null
  const name = cleaned(
    decodeWords(phrase.trim().replace(/^"|"$/g, '').replace(/\\(.)/g, '$1')).trim(),
  )
  return {
    name: name || null,
    address: mailbox.address,
    shown: shownMailbox(name, mailbox.address),
  }
}

/** One address and nothing else, as most mail is to: the parser of lists takes much longer, and reads the same. */
const BARE_ADDRESS = /^[A-Za-z0-9._+-]+@[A-Za-z0-9.-]*[A-Za-z0-9]$/

/**
 * The addresses of a field of the header as they are read back, all of them: by these mail is found that names who is erased. What cannot be read as one is
 * left out; groups are their members.
 */
export function readList(value: string): { address: string; shown: string }[] {
  if (BARE_ADDRESS.test(value)) return readOne('', value)
  return addressParser(value, { flatten: true }).flatMap(({ name, address }) =>
    readOne(cleaned(decodeWords(name)), meant(address ?? '')),
  )
}

function readOne(name: string, address: string): { address: string; shown: string }[] {
  const mailbox = parseMailbox(toAscii(address))
  return mailbox ? [{ address: mailbox.address, shown: shownMailbox(name, mailbox.address) }] : []
}

/**
 * The address that clients mean who write more than that: spaces around its parts and a route, which were legal once, a final dot, apostrophes, and
 * what links have before it. Whoever is erased is found by what was read, and goes out of all of these.
 */
const meant = (written: string): string =>
  written
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?([@.]) ?/g, '$1')
    .replace(/^(?:mailto:|@[^:]*:)/i, '')
    .replace(/^'(.*)'$/, '$1')
    .replace(/\.$/, '')

/** The address of RCPT TO; null for one that the HTTP interface refuses too. */
export const readRecipient = (address: string): string | null =>
  parseMailbox(toAscii(address))?.address ?? null

function shownMailbox(name: string, address: string): string {
  if (name === '') return address
  const isPlain = /^[\p{L}\p{N} '._-]+$/u.test(name)
  return `${isPlain ? name : `"${name.replace(/["\\]/g, '\\$&')}"`} <${address}>`
}

/** A text of a header without what cannot be stored or shown on a line. */
export function cleaned(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, limits.mailboxCharsMax)
  return isStorableText(line) ? line.trim() : line.toWellFormed().replaceAll('\0', '').trim()
}
