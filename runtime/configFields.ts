// Schemas of single settings: ports, lists of name servers, host names.
import { isIP } from 'node:net'
import { z } from 'zod'
import { isHostName, parseMailbox } from '../rules/addresses.ts'
import { limits } from '../rules/limits.ts'

/** `true` or `false`. */
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true')
/** A whole number, in decimal digits alone: a blank text, `0x50` and `1e3` are numbers only to JavaScript. */
export const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .trim()
    .refine(
      (text) => /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most,
      `must be a whole number from ${least} to ${most}`,
    )
    .transform(Number)
/** A TCP port; 0: any free port. */
export const port = wholeNumber(0, 65_535)
/** Delivery lanes: each owns at least one shard. */
export const lanes = wholeNumber(1, limits.shards)
/** Roles of a worker, separated by commas. */
export const roles = z
  .string()
  .transform((text) => text.split(',').map((role) => role.trim()))
  .pipe(z.array(z.enum(['executions', 'delivery'])).min(1))

/** Keys of 32 bytes in base64, separated by commas. */
export const secretKeys = z
  .string()
  .refine(
    (text) => listed(text).every((key) => Buffer.from(key, 'base64').length === 32),
    'must be 32 bytes in base64 each, with commas between',
  )
  .transform(listed)

/** `ip` or `ip:port`, `[ip]:port` for IPv6, separated by commas; empty: the system's resolvers. */
export const dnsServers = z
  .string()
  .refine((text) => listed(text).every(isNameServer), 'must be ip or ip:port, with commas between')
  .transform(listed)

/** `host:port`, or a host alone; `[ip]:port` for IPv6. */
export const temporalAddress = z.string().refine((text) => {
  const [, host = '', number = '7233'] =
    /^(\[[\da-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/i.exec(text) ?? []
  const isHost = host.startsWith('[') ? isIP(host.slice(1, -1)) === 6 : host !== ''
  return isHost && Number(number) > 0 && Number(number) < 65_536
}, 'must be host:port, without a scheme, a path, a user or a password')

/** A host name, or an address in brackets (RFC 5321 section 4.1.3), as used in EHLO and published in DNS. */
export const hostName = z
  .string()
  .regex(/^(\[[\da-f:.]+\]|[\w-]+(\.[\w-]+)*)$/i, 'must be a host name, or an address in brackets')

/** One address, without a display name. */
export const address = z
  .string()
  .refine((text) => parseMailbox(text)?.address.length === text.length, 'must be one address')

/** Domains with commas between, in lower case. */
export const domains = z
  .string()
  .transform((text) => listed(text).map((name) => name.toLowerCase()))
  .refine((names) => names.every(isHostName), 'must be domains, with commas between')

/** One domain, in lower case. */
export const domain = z
  .string()
  .refine(isHostName, 'must be a domain such as simulator.test')
  .transform((text) => text.toLowerCase())

/** `ip` or `ip/bits`, separated by commas. */
export const proxies = z
  .string()
  .refine((text) => listed(text).every(isNetwork), 'must be ip or ip/bits, with commas between')
  .transform(listed)

function listed(text: string): string[] {
  return text.split(',').map((entry) => entry.trim())
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
  )
}

function isNameServer(text: string): boolean {
  const [, bracketed, number] = /^\[(.+)\](?::(\d+))?$/.exec(text) ?? []
  if (bracketed !== undefined) return isIP(bracketed) === 6 && Number(number ?? 53) < 65_536
  const [address = '', digits = '53', ...rest] = isIP(text) === 6 ? [text] : text.split(':')
  return isIP(address) > 0 && /^\d{1,5}$/.test(digits) && Number(digits) < 65_536 && !rest.length
}

/**
 * A URL that may hold a password, with one of the schemes. What is wrong with it is said without the URL, and one that
 * could be read in two ways is refused: else a part of the password would be taken for a host or a path, and logged.
 */
export const secretUrl = (schemes: RegExp, mustStart: string) =>
  z.string().superRefine((text, context) => {
    const message = schemes.test(text) ? urlFault(text) : mustStart
    if (message !== null) context.addIssue({ code: 'custom', message })
  })

function urlFault(text: string): string | null {
  // A Postgres URL may name a user and no host, which the parser does not allow.
  const complete = text.replace('@/', '@socket/')
  if (!URL.canParse(complete)) {
    return 'must be a URL; in user and password, percent-encode what is no letter or digit'
  }
  if (/^[^/]*\/\/[^/?#]*[/?#].*@/s.test(text)) {
    return 'has an @ after the host: percent-encode / ? # in user and password, and @ elsewhere'
  }
  if (text.includes('#')) return 'has a #: percent-encode it as %23'
  const { username, password } = new URL(complete)
  return [username, password].every(isPercentEncoded)
    ? null
    : 'has a % in user or password that encodes nothing: write it as %25'
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** The name of a file; its content, which may be a key, would stand in the error that there is no such file. */
export const fileName = z
  .string()
  .refine((text) => !text.includes('-----BEGIN'), 'must be the name of a file, not its content')
