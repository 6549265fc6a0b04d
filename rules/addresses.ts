// Strict parsers of email addresses and domain names: no other parser can read an accepted text differently.
import { limits } from './limits.ts'
import { isOneLine, turnsAround } from './oneLine.ts'

export interface Mailbox {
  /** The display name, unquoted; null when there is none. */
  name: string | null
  /** `local@domain`, the domain in lower case. */
  address: string
}

/**
 * Line breaks, other control characters, half surrogate pairs, and marks that change the direction of text (with
 * which one name can look like another). Never part of an address or a name.
 */
const isForbidden = (text: string): boolean =>
  !isOneLine(text) || /\p{Cs}/u.test(text) || turnsAround(text)

/**
 * RFC 5322 dot-atom. Quoted local parts are legal in that RFC, but refused here, because parsers disagree about
 * them.
 */
const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/

const localCharsMax = 64
const mailboxCharsMax = limits.addressCharsMax + limits.nameCharsMax + 8

/**
 * Reads exactly one mailbox: `a@b.com`, `Name <a@b.com>`, `"Quoted, name" <a@b.com>` or `<a@b.com>`.
 * Null for everything else: lists, groups, comments, quoted local parts, address literals, source routes, control
 * characters, encoded words, a second `@`, `<` or `>`, anything outside ASCII in the address (internationalised
 * domains must come as `xn--`), and sizes over RFC 5321 4.5.3.1 (local part 64, whole address 254).
 */
export function parseMailbox(text: string): Mailbox | null {
  if (text.length > mailboxCharsMax || isForbidden(text)) return null
  const trimmed = text.trim()
  if (!trimmed.endsWith('>')) {
    const address = parseAddress(trimmed)
    return address === null ? null : { name: null, address }
  }
  const open = trimmed.indexOf('<')
  if (open === -1) return null
  const name = parseName(trimmed.slice(0, open).trim())
  const address = parseAddress(trimmed.slice(open + 1, -1))
  return name === null || address === null ? null : { name: name === '' ? null : name, address }
}

/** The display name; '' if there is none; null if it is not acceptable. */
function parseName(text: string): string | null {
  const quoted = /^"((?:[^"\\]|\\.)*)"$/u.exec(text)
  const name = quoted ? (quoted[1] ?? '').replace(/\\(.)/gu, '$1').trim() : text
  if (name.length > limits.nameCharsMax) return null
  // Careless parsers read angle brackets and encoded words even inside quotes.
  if (/[<>]|=\?/.test(name)) return null
  // Unquoted, these would start a list, a group, a comment, a route, a literal or another address.
  if (!quoted && /[()[\]:;@\\,"]/.test(name)) return null
  return name
}

/** `local@domain` with the domain in lower case, or null. */
function parseAddress(text: string): string | null {
  if (!isAddress(text)) return null
  const at = text.indexOf('@') + 1
  return text.slice(0, at) + text.slice(at).toLowerCase()
}

function isAddress(text: string): boolean {
  if (text.length > limits.addressCharsMax) return false
  const at = text.indexOf('@')
  const local = text.slice(0, Math.max(at, 0))
  if (local.length > localCharsMax || !localPart.test(local) || local.includes('=?')) return false
  return isHostName(text.slice(at + 1))
}

/**
 * A contact's address: bare and in lower case. Null if the text is not an address. Spaces around it are refused,
 * so that a contact has the same spelling in paths and bodies.
 */
export function normalizeContactEmail(text: string): string | null {
  return isAddress(text) ? text.toLowerCase() : null
}

/** The domain of an address that one of the functions above has returned. */
export function addressDomain(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

/** The domain of a sender (an address, or `Name <address>`); null if the text cannot be parsed. */
export function senderDomain(from: string): string | null {
  const address = parseMailbox(from)?.address
  return address === undefined ? null : addressDomain(address)
}

/**
 * True for a domain that may be registered: 4-253 characters, two or more labels of 1-63 letters,
 * digits and inner hyphens, the last one not all digits (RFC 1123 2.1), no final dot, ASCII.
 */
export function isDomainName(text: string): boolean {
  return text.length >= limits.domainNameCharsMin && isHostName(text)
}

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const labels = new RegExp(`^(?:${label}\\.)+${label}$`)

export function isHostName(text: string): boolean {
  return text.length <= limits.domainNameCharsMax && labels.test(text) && !/\.\d+$/.test(text)
}
