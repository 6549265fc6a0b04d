// Schemas of audiences.
import { z } from '@hono/zod-openapi'
import type { AudienceRow } from '../../db/audiences/reads.ts'
import type { ApiDeps } from '../http/env.ts'
import { CreatedBy, nameField, pageFields, toCreatedBy } from '../http/fields.ts'

export const Audience = z
  .object({
    id: z.string(),
    name: z.string(),
    created_by: CreatedBy,
    created: z.int(),
    updated: z.int().openapi({ description: 'When it was renamed last; `created` before that' }),
    contact_count: z.int().openapi({
      description: 'How many contacts it has, unsubscribed ones included. Exact',
    }),
    unsubscribers: z.int().openapi({
      description: 'How many of its contacts have `is_subscribed` false. Exact',
    }),
  })
  .openapi('Audience')
export type Audience = z.infer<typeof Audience>

export const AudienceList = z
  .object({ audiences: z.array(Audience), ...pageFields })
  .openapi('AudienceList')

export const AudienceBody = z
  .object({
    name: nameField.openapi({
      description: 'Not blank. Two audiences may have the same name',
    }),
  })
  .openapi('AudienceBody')

export const toAudience = (row: AudienceRow, config: ApiDeps['config']): Audience => ({
  id: row.id,
  name: row.name,
  created_by: toCreatedBy(row, config),
  created: row.created_at.getTime(),
  updated: row.updated_at.getTime(),
  contact_count: row.contact_count,
  unsubscribers: row.unsubscribers,
})
