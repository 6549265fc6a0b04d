// Sending domains as the API shows them, with the DNS records to publish.
import { z } from '@hono/zod-openapi'
import type { DomainRow } from '../../db/domains.ts'
import { limits } from '../../domain/limits.ts'
import { maySendFrom } from '../../domain/states.ts'
import { domainRecords, type MailSender, spfMechanism } from '../../mail/domainRecords.ts'
import type { ApiDeps } from '../deps.ts'
import { CreatedBy, textField, toCreatedBy } from './fields.ts'

export const DnsRecord = z
  .object({
    name: z.string(),
    for: z.enum(['DKIM', 'MAIL FROM domain', 'DMARC (highly recommended)']),
    type: z.enum(['TXT', 'MX']),
    value: z.string(),
    required: z.boolean(),
    priority: z.int().optional().openapi({ description: 'MX alone' }),
  })
  .openapi('DnsRecord')

const status = z.enum(['NOT_STARTED', 'PENDING', 'SUCCESS', 'FAILED', 'TEMPORARY_FAILURE'])

export const NewDomain = z
  .object({
    name: textField(limits.domainNameCharsMax).min(limits.domainNameCharsMin),
  })
  .openapi('NewDomain')

export const CreatedDomain = z
  .object({ id: z.string(), name: z.string(), status, dns_records: z.array(DnsRecord) })
  .openapi('CreatedDomain')

const VerificationInfo = z.object({
  last_checked_timestamp: z.string().nullable().openapi({ format: 'date-time' }),
  last_success_timestamp: z.string().nullable().openapi({ format: 'date-time' }),
  error_type: z.string().nullable(),
  soa_record: z.record(z.string(), z.unknown()),
})

export const DomainListItem = z
  .object({
    id: z.string(),
    name: z.string(),
    status,
    verified_for_sending_status: z.boolean(),
    verification_info: VerificationInfo,
    public_key: z.string(),
    dns_records: z.array(DnsRecord),
    created: z.int(),
    is_warmed_up: z.boolean(),
    warmed_up_at: z.int().nullable(),
    created_by: CreatedBy,
  })
  .openapi('DomainListItem')
export type DomainListItem = z.infer<typeof DomainListItem>

export const DomainList = z
  .object({ domains: z.array(DomainListItem), count: z.int(), cursor: z.string().nullable() })
  .openapi('DomainList')

export const Domain = DomainListItem.extend({
  created_by: CreatedBy.extend({ type: z.string() }),
  open_tracking_enabled: z.boolean(),
  click_tracking_enabled: z.boolean(),
}).openapi('Domain')
export type Domain = z.infer<typeof Domain>

type Status = z.infer<typeof status>

/** The operator's mail host, unless it is named: that of the public address, or the EHLO name where that is an IP. */
export function mailSender(config: ApiDeps['config']): MailSender {
  const { hostname } = new URL(config.publicUrl)
  const derived = /^[\d.]+$|^\[|^localhost$/.test(hostname) ? config.ehloName : hostname
  const host = config.mailHost ?? derived
  return { host, spf: config.spfMechanism ?? spfMechanism(host) }
}

/** The RSA key that signs now: of those that are active the one made last. */
const signingKey = ({ keys }: DomainRow) =>
  keys.findLast((key) => key.algorithm === 'rsa' && key.active)

export const toDomainListItem = (row: DomainRow, config: ApiDeps['config']): DomainListItem => ({
  id: row.id,
  name: row.name,
  status: row.status as Status,
  verified_for_sending_status: maySendFrom(row.status),
  verification_info: {
    last_checked_timestamp: row.last_checked_at?.toISOString() ?? null,
    last_success_timestamp: row.last_success_at?.toISOString() ?? null,
    error_type: row.error_type,
    soa_record: row.soa_record,
  },
  public_key: signingKey(row)?.public_key ?? '',
  dns_records: domainRecords(row, 'zone', mailSender(config)),
  created: row.created_at.getTime(),
  is_warmed_up: row.is_warmed_up,
  warmed_up_at: row.warmed_up_at?.getTime() ?? null,
  created_by: toCreatedBy(row, config),
})

export const toDomain = (row: DomainRow, config: ApiDeps['config']): Domain => ({
  ...toDomainListItem(row, config),
  created_by: { ...toCreatedBy(row, config), type: 'user' },
  open_tracking_enabled: row.open_tracking_enabled,
  click_tracking_enabled: row.click_tracking_enabled,
})
