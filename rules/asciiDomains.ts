// What errors advise where an address or a domain name is refused for letters beyond ASCII alone.
import { isDomainName, parseMailbox } from './addresses.ts'
import { limits } from './limits.ts'

/** Around the domain of an address: what stands before it, and the end of `Name <address>`. */
const PARTS = /^(.*@)([^@<>]+)(>?\s*)$/su

/**
 * Follows the form that an address must have: `, with the domain written as xn--mnchen-3ya.example`. Empty unless the
 * address is right but for that.
 * @param given what was refused
 */
export function addressAdvice(given: unknown): string {
  if (typeof given !== 'string' || given.length > limits.mailboxCharsMax) return ''
  const [, before = '', domain = '', after = ''] = PARTS.exec(given) ?? []
  const ascii = inAscii(domain)
  const isMended = ascii !== null && parseMailbox(before + ascii + after) !== null
  return isMended ? `, with the domain written as ${ascii}` : ''
}

/** The same of a domain name alone. */
export function domainAdvice(given: string): string {
  const ascii = given.length > limits.domainNameCharsMax ? null : inAscii(given)
  return ascii !== null && isDomainName(ascii) ? `, written as ${ascii}` : ''
}

/** A name that has letters beyond ASCII, as the DNS has it (RFC 5890); null for every other text. */
function inAscii(name: string): string | null {
  // Letters, their marks, digits, dots and hyphens: nothing that an address of the web could take for a path or a port.
  if (!/^[\p{L}\p{M}\p{N}.-]+$/u.test(name) || !/[^\x20-\x7e]/.test(name)) return null
  const href = `http://${name}/`
  return URL.canParse(href) ? new URL(href).hostname : null
}
