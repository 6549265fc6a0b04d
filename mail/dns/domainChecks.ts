// Looks up the DNS records of a sending domain and checks each of them.

import {
  type DomainKeys,
  MAIL_FROM_LABEL,
  type MailSender,
  registrableDomain,
} from '../../rules/mail/domainRecords.ts'
import type { RecordState } from '../../rules/mail/domainSchedule.ts'
import { readTags } from '../dkim/tags.ts'
import type { Dns, DnsAnswer, MxRecord, SoaRecord } from './resolver.ts'

export interface DomainCheck extends DomainKeys {
  /** The customer's tracking host, which must be a CNAME to `target`. */
  tracking: { host: string; target: string } | null
}

export interface DomainFindings {
  /** The SOA record of the domain's zone; null if it was not found. */
  soa: SoaRecord | null
  mx: RecordState
  spf: RecordState
  dmarc: RecordState
  /** By selector. */
  dkim: Record<string, RecordState>
  /** null if the domain has no tracking host. */
  tracking: RecordState | null
}

/** Looks up all records of a domain at once. Never throws. `dns` must have no cached answers. */
export async function checkDomain(
  dns: Dns,
  domain: DomainCheck,
  sender: MailSender,
): Promise<DomainFindings> {
  const mailFrom = `${MAIL_FROM_LABEL}.${domain.name}`
  const { tracking } = domain
  const [soa, mx, spf, dmarc, dkim, cname] = await Promise.all([
    dns.soa(domain.name),
    dns.mx(mailFrom).then((answer) => mxState(answer, sender.host)),
    dns.txt(mailFrom).then((answer) => spfState(answer, sender.spf)),
    findDmarc(dns, domain.name),
    Promise.all(
      domain.keys.map(async (key) => {
        const answer = await dns.txt(`${key.selector}._domainkey.${domain.name}`)
        return [key.selector, dkimState(answer, key)] as const
      }),
    ),
    tracking && dns.cname(tracking.host).then((answer) => cnameState(answer, tracking.target)),
  ])
  return {
    soa: soa.kind === 'ok' ? (soa.records[0] ?? null) : null,
    mx,
    spf,
    dmarc,
    dkim: Object.fromEntries(dkim),
    tracking: cname,
  }
}

/** The state of a record: whether `isRight` accepts the answer's records, or why there are none. */
function stateOf<T>(answer: DnsAnswer<T>, isRight: (records: T[]) => boolean): RecordState {
  switch (answer.kind) {
    case 'ok':
      return isRight(answer.records) ? 'SUCCESS' : 'INVALID_VALUE'
    case 'nxdomain':
      return 'HOST_NOT_FOUND'
    case 'nodata':
      return 'TYPE_NOT_FOUND'
    case 'servfail':
      return 'DNS_SERVER_ERROR'
    case 'timeout':
      return 'SERVICE_ERROR'
  }
}

/**
 * Expects one record with the key (RFC 6376 section 3.6.1). Several records are not allowed, and an empty `p=` is
 * a revoked key.
 */
function dkimState(
  answer: DnsAnswer<string>,
  key: Pick<DomainKeys['keys'][number], 'algorithm' | 'public_key'>,
): RecordState {
  return stateOf(answer, ([record = '', ...others]) => {
    const tags = readTags(record)
    if (others.length > 0 || !tags) return false
    const allows = (tag: string, wanted: string) => {
      const list = tags.get(tag)?.split(':')
      return !list || list.some((entry) => [wanted, '*'].includes(entry.trim().toLowerCase()))
    }
    return (
      (tags.get('v') ?? 'DKIM1') === 'DKIM1' &&
      (tags.get('k') ?? 'rsa').toLowerCase() === key.algorithm &&
      allows('h', 'sha256') &&
      allows('s', 'email') &&
      tags.get('p')?.replace(/\s/g, '') === key.public_key
    )
  })
}

/** Expects one MX, the operator's mail host, with any preference. */
function mxState(answer: DnsAnswer<MxRecord>, host: string): RecordState {
  return stateOf(
    answer,
    ([mx, ...others]) => others.length === 0 && bare(mx?.exchange ?? '') === bare(host),
  )
}

/**
 * Expects one SPF record (RFC 7208 section 4.5) with the mechanism, in front of any `all`. Other TXT records and
 * mechanisms are allowed.
 */
function spfState(answer: DnsAnswer<string>, mechanism: string): RecordState {
  return stateOf(answer, (records) => {
    const [record, ...others] = records.filter((text) => /^v=spf1(?: |$)/i.test(text))
    if (record === undefined || others.length > 0) return false
    const terms = record.toLowerCase().split(/ +/).slice(1)
    const end = terms.findIndex((term) => /^[-+~?]?all$/.test(term))
    const reached = end === -1 ? terms : terms.slice(0, end)
    return reached.some((term) => term.replace(/^\+/, '') === mechanism.toLowerCase())
  })
}

/** Expects one DMARC record with a policy (RFC 7489 section 6.3). */
function dmarcState(answer: DnsAnswer<string>): RecordState {
  return stateOf(answer, (records) => {
    const [record = '', ...others] = records.filter((text) => /^v=DMARC1\s*(?:;|$)/.test(text))
    const policy = readTags(record)?.get('p')?.toLowerCase() ?? ''
    return others.length === 0 && ['none', 'quarantine', 'reject'].includes(policy)
  })
}

function cnameState(answer: DnsAnswer<string>, target: string): RecordState {
  return stateOf(
    answer,
    ([name = '', ...others]) => others.length === 0 && bare(name) === bare(target),
  )
}

/** The DMARC policy of the domain, or without one that of its registrable domain (RFC 7489 section 6.6.3). */
async function findDmarc(dns: Dns, name: string): Promise<RecordState> {
  const own = dmarcState(await dns.txt(`_dmarc.${name}`))
  const organisation = registrableDomain(name) ?? name
  if (organisation === name || (own !== 'HOST_NOT_FOUND' && own !== 'TYPE_NOT_FOUND')) return own
  const theirs = dmarcState(await dns.txt(`_dmarc.${organisation}`))
  return theirs === 'SUCCESS' ? theirs : own
}

function bare(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
