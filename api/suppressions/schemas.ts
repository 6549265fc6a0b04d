// Suppressions as the API takes and shows them.
import { z } from '@hono/zod-openapi'
import type { SuppressionRow } from '../../db/suppressions/reads.ts'
import { writtenEmailField } from '../http/fields.ts'

export const Suppression = z
  .object({
    email: z.string(),
    reason: z.enum(['bounce', 'complaint', 'manual']),
    source_id: z
      .string()
      .nullable()
      .openapi({ description: 'The email that bounced or was complained about' }),
    created: z.int(),
    expires_at: z.int().nullable().openapi({ description: 'Null: it holds until it is deleted' }),
  })
  .openapi('Suppression')
export type Suppression = z.infer<typeof Suppression>

export const SuppressionList = z
  .object({ suppressions: z.array(Suppression), count: z.int(), cursor: z.string().nullable() })
  .openapi('SuppressionList')

export const NewSuppression = z
  .object({
    email: writtenEmailField,
  })
  .openapi('NewSuppression')

export const toSuppression = (row: SuppressionRow): Suppression => ({
  email: row.email,
  reason: row.reason,
  source_id: row.source_id,
  created: row.created_at.getTime(),
  expires_at: row.expires_at?.getTime() ?? null,
})
