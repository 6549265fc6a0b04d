// Schemas of sending domains, with the DNS records to publish.
import { z } from '@hono/zod-openapi'
import { toDomainItem } from '../../commands/domains/item.ts'
import type { DomainChange as Change } from '../../commands/domains/update.ts'
import type { DomainRow } from '../../db/domains/reads.ts'
import { limits } from '../../rules/limits.ts'
import type { DomainStatus } from '../../rules/states.ts'
import type { ApiDeps } from '../http/env.ts'
import { CreatedBy, oneIsGiven, pageFields, textField, toCreatedBy } from '../http/fields.ts'

const DnsRecord = z
  .object({
    name: z.string().openapi({
      description:
        'Relative to the registrable domain (`example.com`); in the answer of `POST /v1/domains` to the domain itself',
    }),
    for: z
      .enum(['DKIM', 'MAIL FROM domain', 'DMARC (highly recommended)', 'Tracking'])
      .openapi({ description: 'What the record is good for' }),
    type: z.enum(['TXT', 'MX', 'CNAME']),
    value: z.string(),
    required: z
      .boolean()
      .openapi({ description: 'Whether the domain is verified only with this record' }),
    priority: z.int().optional().openapi({ description: 'Of MX records' }),
  })
  .openapi('DnsRecord')

const status = z
  .enum([
    'NOT_STARTED',
    'PENDING',
    'SUCCESS',
    'FAILED',
    'TEMPORARY_FAILURE',
  ] satisfies DomainStatus[])
  .openapi({
    description:
      '`NOT_STARTED`: not checked yet. `PENDING`: a required record was not found yet. `SUCCESS`: all were found, mail ' +
      'can be sent. `TEMPORARY_FAILURE`: they have been missing for an hour, mail can still be sent. `FAILED`: missing ' +
      'for 72 hours; `POST /v1/domains/{id}/verify` begins again.',
  })

export const NewDomain = z
  .object({
    name: textField(limits.domainNameCharsMax).min(limits.domainNameCharsMin).openapi({
      description: 'A domain that you own, or a name below it; ASCII, so `xn--…` for others',
    }),
  })
  .openapi('NewDomain')

export const CreatedDomain = z
  .object({ id: z.string(), name: z.string(), status, dns_records: z.array(DnsRecord) })
  .openapi('CreatedDomain')

const VerificationInfo = z.object({
  last_checked_timestamp: z
    .string()
    .nullable()
    .openapi({ format: 'date-time', description: 'ISO 8601; null before the first check' }),
  last_success_timestamp: z.string().nullable().openapi({
    format: 'date-time',
    description: 'ISO 8601; when all required records were last found, null if never',
  }),
  error_type: z
    .string()
    .nullable()
    .openapi({
      description:
        'What was wrong with the first required record at the last check, as `HOST_NOT_FOUND`, `TYPE_NOT_FOUND` or ' +
        '`INVALID_VALUE`; null when nothing was',
    }),
  soa_record: z.record(z.string(), z.unknown()).openapi({
    description: 'The SOA record of the zone; empty before it was found',
  }),
})

export const DomainListItem = z
  .object({
    id: z.string(),
    name: z.string(),
    status,
    verified_for_sending_status: z
      .boolean()
      .openapi({ description: 'Whether mail can be sent from it now' }),
    verification_info: VerificationInfo,
    public_key: z.string().openapi({
      description: 'In base64, of the newest RSA key whose record was seen, or of the first',
    }),
    dns_records: z.array(DnsRecord),
    created: z.int().openapi({ description: 'Milliseconds since 1970 (UTC)' }),
    is_warmed_up: z
      .boolean()
      .openapi({ description: 'True once its warm-up, a growing limit for each day, has ended' }),
    warmed_up_at: z.int().nullable().openapi({
      description: 'Milliseconds since 1970 (UTC); null while `is_warmed_up` is false',
    }),
    created_by: CreatedBy,
  })
  .openapi('DomainListItem')
export type DomainListItem = z.infer<typeof DomainListItem>

export const DomainList = z
  .object({ domains: z.array(DomainListItem), ...pageFields })
  .openapi('DomainList')

export const Domain = DomainListItem.extend({
  created_by: CreatedBy.extend({ type: z.string().openapi({ description: 'Always `user`' }) }),
  open_tracking_enabled: z
    .boolean()
    .openapi({ description: 'Whether mail gets a picture of one pixel' }),
  click_tracking_enabled: z
    .boolean()
    .openapi({ description: 'Whether links lead through this service' }),
}).openapi('Domain')
export type Domain = z.infer<typeof Domain>

/** An absent field stays as it is; at least one must be given. */
export const DomainChange = z
  .object({
    open_tracking_enabled: z.boolean().optional().openapi({
      description: 'Whether mail gets a picture of one pixel; `tracking` of an email goes before',
    }),
    click_tracking_enabled: z.boolean().optional().openapi({
      description: 'Whether links lead through this service; `tracking` of an email goes before',
    }),
    tracking_domain: textField(limits.domainNameCharsMax).nullable().optional().openapi({
      description:
        'A host below the registrable domain, which becomes a CNAME; null: links name this service',
    }),
  })
  .refine(...oneIsGiven('open_tracking_enabled', 'click_tracking_enabled', 'tracking_domain'))
  .openapi('DomainChange') satisfies z.ZodType<Change>

export const RotateDkim = z
  .object({
    algorithm: z.enum(['rsa', 'ed25519']).optional().openapi({
      description: '`rsa` when it is absent. An `ed25519` key signs beside the RSA key',
    }),
  })
  .openapi('RotateDkim')

const recordState = z
  .enum([
    'SUCCESS',
    'HOST_NOT_FOUND',
    'TYPE_NOT_FOUND',
    'INVALID_VALUE',
    'DNS_SERVER_ERROR',
    'SERVICE_ERROR',
  ])
  .openapi({
    description:
      '`HOST_NOT_FOUND`: the name has no record. `TYPE_NOT_FOUND`: it has records, but none of this type. ' +
      '`INVALID_VALUE`: another value, or more than one record. `DNS_SERVER_ERROR`, `SERVICE_ERROR`: the name server ' +
      'failed or did not answer, so nothing is known.',
  })

/** With fields beyond the contract: for `?expand=details`, and for operations that the contract does not have. */
export const DomainDetails = Domain.extend({
  tracking_domain: z
    .string()
    .nullable()
    .openapi({ description: 'The host of tracked links; null: that of this service' }),
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

export const toDomainListItem = (row: DomainRow, config: ApiDeps['config']): DomainListItem => ({
  ...toDomainItem(row, config),
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
