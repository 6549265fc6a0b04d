// The DNS records that a sending domain needs, and the zone in which they are to be published.
import { isIP } from 'node:net'
import { parse } from 'tldts'

export interface DomainRecord {
  name: string
  for: 'DKIM' | 'MAIL FROM domain' | 'DMARC (highly recommended)' | 'Tracking'
  type: 'TXT' | 'MX' | 'CNAME'
  value: string
  required: boolean
  priority?: number
}

/** What of a domain its records are made from. */
export interface DomainKeys {
  name: string
  /** Each has a DKIM record; `public_key` is base64. */
  keys: readonly { selector: string; algorithm: 'rsa' | 'ed25519'; public_key: string }[]
  /** A host below its registrable domain; null or absent: links name the operator's. */
  tracking_domain?: string | null
}

/** The operator's side of the records. */
export interface MailSender {
  /** Takes the bounces: the MX of every MAIL FROM domain. */
  host: string
  /** The SPF mechanism (RFC 7208) that lets this service send. */
  spf: string
  /** What the tracking host of a domain is to be a CNAME of. */
  tracking: string
}

/** Label below a sending domain that takes bounces: its MAIL FROM domain. */
export const MAIL_FROM_LABEL = 'bounces'
const MX_PRIORITY = 10

/** The registrable domain of a name (`acme.co.uk` of `news.acme.co.uk`); null for public suffixes and IP addresses. */
export function registrableDomain(name: string): string | null {
  // A private suffix (github.io) belongs to somebody else too, though a zone of its own it is not.
  if (parse(name, { allowPrivateDomains: true }).domain === null) return null
  return parse(name).domain
}

/** The labels of a name in front of its registrable domain (`news`), '' when there are none. */
function ownPrefix(name: string): string {
  const zone = registrableDomain(name) ?? name
  return name.slice(0, Math.max(0, name.length - zone.length - 1))
}

/**
 * The records of a domain.
 * @param relativeTo `domain`: names without the domain's own label prefix (operation 8); `zone`: with it
 */
export function domainRecords(
  domain: DomainKeys,
  relativeTo: 'domain' | 'zone',
  sender: MailSender,
): DomainRecord[] {
  const prefix = relativeTo === 'zone' ? ownPrefix(domain.name) : ''
  const named = (label: string) => (prefix === '' ? label : `${label}.${prefix}`)
  return [
    ...domain.keys.map(
      (key): DomainRecord => ({
        name: named(`${key.selector}._domainkey`),
        for: 'DKIM',
        type: 'TXT',
        value: `v=DKIM1; k=${key.algorithm}; p=${key.public_key}`,
        required: key.algorithm === 'rsa',
      }),
    ),
    {
      name: named(MAIL_FROM_LABEL),
      for: 'MAIL FROM domain',
      type: 'MX',
      value: sender.host,
      required: true,
      priority: MX_PRIORITY,
    },
    {
      name: named(MAIL_FROM_LABEL),
      for: 'MAIL FROM domain',
      type: 'TXT',
      value: `v=spf1 ${sender.spf} ~all`,
      required: true,
    },
    {
      name: named('_dmarc'),
      for: 'DMARC (highly recommended)',
      type: 'TXT',
      value: 'v=DMARC1; p=none;',
      required: false,
    },
    ...trackingRecords(domain, sender),
  ]
}

function trackingRecords(domain: DomainKeys, sender: MailSender): DomainRecord[] {
  const { tracking_domain: host } = domain
  if (!host) return []
  const zone = registrableDomain(host) ?? host
  const name = host.slice(0, Math.max(0, host.length - zone.length - 1))
  return [{ name, for: 'Tracking', type: 'CNAME', value: sender.tracking, required: false }]
}

/** The operator's mail host, unless it is named: that of the public address, or the EHLO name where that is an IP. */
export function mailSender(config: {
  publicUrl: string
  ehloName: string
  mailHost: string | null
  spfMechanism: string | null
}): MailSender {
  const { hostname } = new URL(config.publicUrl)
  const derived = /^[\d.]+$|^\[|^localhost$/.test(hostname) ? config.ehloName : hostname
  const host = config.mailHost ?? derived
  return { host, spf: config.spfMechanism ?? spfMechanism(host), tracking: hostname }
}

/**
 * Whether that host may be a domain's tracking host: below the same registrable domain, and none of the names that
 * the other records of the domain need.
 */
export function mayTrack(host: string, domain: string): boolean {
  const zone = registrableDomain(domain)
  const taken = [domain, zone, `${MAIL_FROM_LABEL}.${domain}`]
  return zone !== null && registrableDomain(host) === zone && !taken.includes(host)
}

/** The SPF mechanism (RFC 7208) that lets a host send. */
function spfMechanism(mailHost: string): string {
  const version = isIP(mailHost)
  return version === 0 ? `a:${mailHost}` : `ip${version}:${mailHost}`
}
