// Schemas of suppressions.
import { z } from '@hono/zod-openapi'
import type { SuppressionRow } from '../../db/suppressions/reads.ts'
import { pageFields, writtenEmailField } from '../http/fields.ts'

export const Suppression = z
  .object({
    email: z.string().nullable().openapi({
      description:
        'In lower case; null: the contact was erased, and the address is kept as a keyed hash alone',
    }),
    reason: z.enum(['bounce', 'complaint', 'manual']).openapi({
      description:
        '`bounce`: mail came back. `complaint`: the recipient called a mail spam. `manual`: by this API.',
    }),
    source_id: z
      .string()
      .nullable()
      .openapi({
        description:
          'The email that bounced or was complained about; null for `manual`, and for a key that is bound to one ' +
          'domain where the email is of another',
      }),
    created: z.int().openapi({ description: 'Milliseconds since 1970 (UTC)' }),
    expires_at: z.int().nullable().openapi({
      description: 'Milliseconds since 1970 (UTC); null: it holds until it is deleted',
    }),
  })
  .openapi('Suppression')
export type Suppression = z.infer<typeof Suppression>

export const SuppressionList = z
  .object({ suppressions: z.array(Suppression), ...pageFields })
  .openapi('SuppressionList')

export const NewSuppression = z
  .object({
    email: writtenEmailField.openapi({
      description: 'A bare address; upper and lower case are the same',
      example: 'ada@example.com',
    }),
  })
  .openapi('NewSuppression')

export const toSuppression = (row: SuppressionRow): Suppression => ({
  email: row.email,
  reason: row.reason,
  source_id: row.source_id,
  created: row.created_at.getTime(),
  expires_at: row.expires_at?.getTime() ?? null,
})
