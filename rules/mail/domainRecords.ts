// The DNS records that a sending domain needs, and names relative to the zone that they are published in.
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

/** The columns of a domain that its records are made from. */
export interface DomainKeys {
  name: string
  /** Each key has a DKIM record; `public_key` is base64. */
  keys: readonly { selector: string; algorithm: 'rsa' | 'ed25519'; public_key: string }[]
  /** A host below its registrable domain; null or absent: links use the operator's host. */
  tracking_domain?: string | null
}

/** The values that the records take from the operator's configuration. */
export interface MailSender {
  /** The host that receives bounces: the MX of every MAIL FROM domain. */
  host: string
  /** The SPF mechanism (RFC 7208) that allows this service to send. */
  spf: string
  /** The target of the CNAME record of a domain's tracking host. */
  tracking: string
}

/** Label of the MAIL FROM domain, the name below a sending domain that receives bounces. */
export const MAIL_FROM_LABEL = 'bounces'
const MX_PRIORITY = 10

/** The registrable domain of a name (`acme.co.uk` of `news.acme.co.uk`); null for public suffixes and IP addresses. */
export function registrableDomain(name: string): string | null {
  // A name that is a private suffix (github.io) is refused, because it belongs to somebody else.
  if (parse(name, { allowPrivateDomains: true }).domain === null) return null
  return parse(name).domain
}

/** The labels of a name in front of its registrable domain (`news`); '' if there are none. */
function ownPrefix(name: string): string {
  const zone = registrableDomain(name) ?? name
  return name.slice(0, Math.max(0, name.length - zone.length - 1))
}

/**
 * The records of a domain.
 * @param relativeTo `domain`: names without the domain's own label prefix, as `POST /v1/domains` answers; `zone`: with it
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

/**
 * The operator's values. Without a configured mail host it is the host of the public URL, or the EHLO name if that
 * host is an IP address or localhost.
 */
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
 * Whether a host may be the domain's tracking host: it is below the same registrable domain, and no other record
 * of the domain uses its name.
 */
export function mayTrack(host: string, domain: string): boolean {
  const zone = registrableDomain(domain)
  const taken = [domain, zone, `${MAIL_FROM_LABEL}.${domain}`]
  return zone !== null && registrableDomain(host) === zone && !taken.includes(host)
}

/** The SPF mechanism (RFC 7208) that allows a host to send. */
function spfMechanism(mailHost: string): string {
  const version = isIP(mailHost)
  return version === 0 ? `a:${mailHost}` : `ip${version}:${mailHost}`
}
