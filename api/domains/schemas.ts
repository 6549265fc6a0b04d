// Sending domains as the API shows them, with the DNS records to publish.
import { z } from '@hono/zod-openapi'
import type { DomainChange as Change } from '../../commands/domains/update.ts'
import type { DomainRow } from '../../db/domains/reads.ts'
import { limits } from '../../rules/limits.ts'
import { domainRecords, mailSender } from '../../rules/mail/domainRecords.ts'
import { type DomainStatus, maySendFrom } from '../../rules/states.ts'
import type { ApiDeps } from '../http/env.ts'
import { CreatedBy, textField, toCreatedBy } from '../http/fields.ts'

const DnsRecord = z
  .object({
    name: z.string(),
    for: z.enum(['DKIM', 'MAIL FROM domain', 'DMARC (highly recommended)', 'Tracking']),
    type: z.enum(['TXT', 'MX', 'CNAME']),
    value: z.string(),
    required: z.boolean(),
    priority: z.int().optional().openapi({ description: 'MX alone' }),
  })
  .openapi('DnsRecord')

const status = z.enum([
  'NOT_STARTED',
  'PENDING',
  'SUCCESS',
  'FAILED',
  'TEMPORARY_FAILURE',
] satisfies DomainStatus[])

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

/** A field that is absent stays as it is; at least one is given. */
export const DomainChange = z
  .object({
    open_tracking_enabled: z.boolean().optional(),
    click_tracking_enabled: z.boolean().optional(),
    tracking_domain: textField(limits.domainNameCharsMax).nullable().optional().openapi({
      description:
        'A host below the registrable domain, to be a CNAME; null: links name this service',
    }),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), {
    error: 'give open_tracking_enabled, click_tracking_enabled or tracking_domain',
  })
  .openapi('DomainChange') satisfies z.ZodType<Change>

export const RotateDkim = z
  .object({ algorithm: z.enum(['rsa', 'ed25519']).optional() })
  .openapi('RotateDkim')

const recordState = z.enum([
  'SUCCESS',
  'HOST_NOT_FOUND',
  'TYPE_NOT_FOUND',
  'INVALID_VALUE',
  'DNS_SERVER_ERROR',
  'SERVICE_ERROR',
])

/** With what we know beyond the contract: of `?expand=details`, and of the operations that are ours. */
export const DomainDetails = Domain.extend({
  tracking_domain: z.string().nullable(),
  record_states: z
    .object({
      mx: recordState.optional(),
      spf: recordState.optional(),
      dmarc: recordState.optional(),
      dkim: z.record(z.string(), recordState).optional().openapi({ description: 'By selector' }),
      tracking: recordState.optional(),
    })
    .openapi({ description: 'What the last check found; empty before the first' }),
}).openapi('DomainDetails')
export type DomainDetails = z.infer<typeof DomainDetails>

/** The RSA key that is shown: of those whose record was seen the one made last, which may begin to sign later. */
const shownKey = ({ keys }: DomainRow) =>
  keys.findLast((key) => key.algorithm === 'rsa' && key.active)

export const toDomainListItem = (row: DomainRow, config: ApiDeps['config']): DomainListItem => ({
  id: row.id,
  name: row.name,
  status: row.status,
  verified_for_sending_status: maySendFrom(row.status),
  verification_info: {
    last_checked_timestamp: row.last_checked_at?.toISOString() ?? null,
    last_success_timestamp: row.last_success_at?.toISOString() ?? null,
    error_type: row.error_type,
    soa_record: row.soa_record,
  },
  public_key: shownKey(row)?.public_key ?? '',
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

export const toDomainDetails = (row: DomainRow, config: ApiDeps['config']): DomainDetails => ({
  ...toDomain(row, config),
  tracking_domain: row.tracking_domain,
  record_states: row.record_states as DomainDetails['record_states'],
})
