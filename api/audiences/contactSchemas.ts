// Contacts of an audience as the API takes and shows them.
import { z } from '@hono/zod-openapi'
import type { NewAudienceContact as New } from '../../commands/audiences/upsertContacts.ts'
import type { AudienceContactChange as Change } from '../../commands/audiences/withAudience.ts'
import type { AudienceContactRow } from '../../db/audiences/contactReads.ts'
import { limits } from '../../rules/limits.ts'
import { jsonObjectField, textField, writtenEmailField } from '../http/fields.ts'

export const AudienceContact = z
  .object({
    id: z.string(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    email: z.string(),
    is_subscribed: z.boolean(),
    created: z.int(),
    updated: z.int(),
    properties: z
      .record(z.string(), z.unknown())
      .optional()
      .openapi({ description: 'With `?expand=details`' }),
  })
  .openapi('AudienceContact')
export type AudienceContact = z.infer<typeof AudienceContact>

export const AudienceContactList = z
  .object({ contacts: z.array(AudienceContact), count: z.int(), cursor: z.string().nullable() })
  .openapi('AudienceContactList')

const changes = {
  first_name: textField(limits.nameCharsMax).nullish(),
  last_name: textField(limits.nameCharsMax).nullish(),
  is_subscribed: z.boolean().optional(),
  properties: jsonObjectField
    .optional()
    .openapi({ description: 'Merged into the stored ones; null deletes a key' }),
}

export const AudienceContactChange = z
  .object(changes)
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    message: 'The body has no key that can be changed',
  })
  .openapi('AudienceContactChange') satisfies z.ZodType<Change>

export const NewAudienceContact = z
  .object({
    email: writtenEmailField,
    ...changes,
  })
  .openapi('NewAudienceContact') satisfies z.ZodType<New>

export const AudienceContactBatch = z
  .object({
    contacts: z
      .array(z.unknown().openapi({ type: 'object', description: 'A NewAudienceContact' }))
      .min(1)
      .max(limits.audienceContactsBatchMax),
  })
  .openapi('AudienceContactBatch')

export const AudienceContactBatchResult = z
  .object({
    contacts: z.array(z.object({ email: z.string(), created: z.boolean() })),
    errors: z.array(z.object({ index: z.int(), message: z.string(), code: z.string() })),
  })
  .openapi('AudienceContactBatchResult')

export const toAudienceContact = (row: AudienceContactRow, expand: boolean): AudienceContact => ({
  id: row.id,
  first_name: row.first_name,
  last_name: row.last_name,
  email: row.email,
  is_subscribed: row.is_subscribed,
  created: row.created_at.getTime(),
  updated: row.updated_at.getTime(),
  ...(expand ? { properties: row.properties } : {}),
})
