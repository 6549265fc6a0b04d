// Schemas of the contacts of an audience.
import { z } from '@hono/zod-openapi'
import type { AudienceContactChange as Change } from '../../commands/audiences/change.ts'
import type { NewAudienceContact as New } from '../../commands/audiences/upsertContacts.ts'
import type { AudienceContactFields } from '../../db/audiences/contactReads.ts'
import type { JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import {
  jsonObjectField,
  oneIsGiven,
  pageFields,
  textField,
  writtenEmailField,
} from '../http/fields.ts'

export const AudienceContact = z
  .object({
    id: z.string(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    email: z.string().openapi({ description: 'The address, in lower case' }),
    is_subscribed: z.boolean().openapi({
      description: 'Set to false when the address complains about a mail as spam',
    }),
    created: z.int().openapi({ description: 'When the contact joined this audience' }),
    updated: z.int(),
    properties: z
      .record(z.string(), z.unknown())
      .optional()
      .openapi({ description: 'Free-form. In the list alone, with `?expand=details`' }),
  })
  .openapi('AudienceContact')
export type AudienceContact = z.infer<typeof AudienceContact>

export const AudienceContactList = z
  .object({ contacts: z.array(AudienceContact), ...pageFields })
  .openapi('AudienceContactList')

const changes = {
  first_name: textField(limits.nameCharsMax).nullish().openapi({ description: 'null deletes it' }),
  last_name: textField(limits.nameCharsMax).nullish().openapi({ description: 'null deletes it' }),
  is_subscribed: z
    .boolean()
    .optional()
    .openapi({ description: 'A new contact is subscribed unless this is false' }),
  properties: jsonObjectField.optional().openapi({
    description: 'Free-form. Merged into the stored ones at every depth; null deletes a key',
  }),
}

export const AudienceContactChange = z
  .object(changes)
  .refine(...oneIsGiven(...Object.keys(changes)))
  .openapi('AudienceContactChange') satisfies z.ZodType<Change>

export const NewAudienceContact = z
  .object({
    email: writtenEmailField.openapi({
      description:
        'The address. It is kept in lower case, and no other contact of the audience has it',
      example: 'ada@example.com',
    }),
    ...changes,
  })
  .openapi('NewAudienceContact') satisfies z.ZodType<New>

export const AudienceContactBatch = z
  .object({
    contacts: z
      .array(z.unknown().openapi({ type: 'object', description: 'A `NewAudienceContact`' }))
      .min(1)
      .max(limits.audienceContactsBatchMax)
      .openapi({ description: `1-${limits.audienceContactsBatchMax}, applied in this order` }),
  })
  .openapi('AudienceContactBatch')

export const AudienceContactBatchResult = z
  .object({
    contacts: z
      .array(
        z.object({
          email: z.string(),
          created: z.boolean().openapi({ description: 'False: it was known, and was changed' }),
        }),
      )
      .openapi({ description: 'Those that were taken, in the order of the request' }),
    errors: z
      .array(
        z.object({
          index: z.int().openapi({ description: 'Its place in the request, from 0' }),
          message: z.string(),
          code: z.enum(['invalid_request', 'opted_out']),
        }),
      )
      .openapi({ description: 'Those that were not' }),
  })
  .openapi('AudienceContactBatchResult')

/** @param properties absent: they are not shown */
export const toAudienceContact = (
  row: AudienceContactFields,
  properties?: JsonObject,
): AudienceContact => ({
  id: row.id,
  first_name: row.first_name,
  last_name: row.last_name,
  email: row.email,
  is_subscribed: row.is_subscribed,
  created: row.created_at.getTime(),
  updated: row.updated_at.getTime(),
  ...(properties ? { properties } : {}),
})
