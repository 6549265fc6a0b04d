// Addresses as SMTP gives them, with their domain as everything of ours is named.
import { domainToASCII } from 'node:url'

/**
 * A name that is written in ASCII as it is: its last label is no number, as of an IP address, and none is encoded. The rules of names take longer
 * than most of what is read of a message.
 */
const PLAIN = /^(?!.*xn--)(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*$/

/**
 * An address with its domain in ASCII (RFC 5890): smtp-server turns `xn--` labels into Unicode, and everything of ours is
 * named and signed in ASCII.
 */
export function toAscii(address: string): string {
  const at = address.lastIndexOf('@')
  const name = address.slice(at + 1)
  if (PLAIN.test(name)) return address
  const domain = domainToASCII(name)
  return at < 0 || domain === '' ? address : `${address.slice(0, at + 1)}${domain}`
}
