// Addresses as SMTP gives them, with their domain as everything of ours is named.
import { domainToASCII } from 'node:url'

/**
 * An address with its domain in ASCII (RFC 5890): smtp-server turns `xn--` labels into Unicode, and everything of ours is
 * named and signed in ASCII.
 */
export function toAscii(address: string): string {
  const at = address.lastIndexOf('@')
  const domain = domainToASCII(address.slice(at + 1))
  return at < 0 || domain === '' ? address : `${address.slice(0, at + 1)}${domain}`
}
