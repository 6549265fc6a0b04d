// Schemas of API keys. The token is shown once, by the operation that makes it.
import { z } from '@hono/zod-openapi'
import type { listApiKeys } from '../../db/api-keys/reads.ts'
import { limits } from '../../rules/limits.ts'
import { permissions } from '../../rules/permissions.ts'
import { nameField, pageFields, TIME_MAX_MS, textField } from '../http/fields.ts'

const permissionField = z.enum(permissions).openapi({
  description:
    '`full_access`: everything. `sending_access`: send mail, and read what became of one. `events_only`: post events. ' +
    '`read_only`: read everything but keys.',
})

export const NewApiKey = z
  .object({
    name: nameField.openapi({
      description: 'For whoever reads the list; several may have one name',
    }),
    permission: permissionField,
    domain_id: textField(limits.nameCharsMax).min(1).nullable().optional().openapi({
      description:
        'The only domain that it is for. Absent or null: that of the key that asks, which may be for all of them',
    }),
    expires_at: z.int().max(TIME_MAX_MS).nullable().optional().openapi({
      description:
        'When it ends, in milliseconds since 1970 (UTC). Absent or null: with the key that asks, which may have no end',
    }),
  })
  .openapi('NewApiKey')

export const RotateApiKey = z
  .object({
    grace_ms: z.int().min(0).max(limits.keyGraceMsMax).openapi({
      description:
        'How long the token before works beside the new one, up to seven days; 0: it and all before it are refused at once',
    }),
  })
  .openapi('RotateApiKey')

export const ApiKey = z
  .object({
    id: z.string(),
    name: z.string(),
    prefix: z.string().openapi({ description: 'The first characters of the token' }),
    permission: permissionField,
    domain_id: z
      .string()
      .nullable()
      .openapi({ description: 'The only domain that it may send from; null: any' }),
    expires_at: z
      .int()
      .nullable()
      .openapi({ description: 'Milliseconds since 1970 (UTC); null: never' }),
    last_used_at: z.int().nullable().openapi({
      description: 'Milliseconds since 1970 (UTC), to about a minute; null: not yet',
    }),
    created: z.int().openapi({ description: 'Milliseconds since 1970 (UTC)' }),
  })
  .openapi('ApiKey')
export type ApiKey = z.infer<typeof ApiKey>

/** The key with its token, which no other answer has. */
export const MadeApiKey = ApiKey.extend({
  token: z.string().nullable().openapi({
    description:
      'The key itself. Store it now: it is shown this once, and is null where an Idempotency-Key gives the answer again',
  }),
}).openapi('MadeApiKey')

type ApiKeyRow = Awaited<ReturnType<typeof listApiKeys>>[number]

export const toApiKey = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  permission: row.permission,
  domain_id: row.domain_id,
  expires_at: row.expires_at?.getTime() ?? null,
  last_used_at: row.last_used_at?.getTime() ?? null,
  created: row.created_at.getTime(),
})

export const ApiKeyList = z
  .object({ api_keys: z.array(ApiKey), ...pageFields })
  .openapi('ApiKeyList')
