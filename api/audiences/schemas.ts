// Audiences as the API shows them.
import { z } from '@hono/zod-openapi'
import type { AudienceRow } from '../../db/audiences/reads.ts'
import type { ApiDeps } from '../http/env.ts'
import { CreatedBy, nameField, toCreatedBy } from '../http/fields.ts'

export const Audience = z
  .object({
    id: z.string(),
    name: z.string(),
    created_by: CreatedBy,
    created: z.int(),
    updated: z.int(),
    contact_count: z.int().openapi({ description: 'The unsubscribed included' }),
    unsubscribers: z.int(),
  })
  .openapi('Audience')
export type Audience = z.infer<typeof Audience>

export const AudienceList = z
  .object({ audiences: z.array(Audience), count: z.int(), cursor: z.string().nullable() })
  .openapi('AudienceList')

export const AudienceBody = z.object({ name: nameField }).openapi('AudienceBody')

export const toAudience = (row: AudienceRow, config: ApiDeps['config']): Audience => ({
  id: row.id,
  name: row.name,
  created_by: toCreatedBy(row, config),
  created: row.created_at.getTime(),
  updated: row.updated_at.getTime(),
  contact_count: row.contact_count,
  unsubscribers: row.unsubscribers,
})
