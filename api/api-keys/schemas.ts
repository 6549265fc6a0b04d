// Schemas of API keys. The token is never shown.
import { z } from '@hono/zod-openapi'
import type { listApiKeys } from '../../db/api-keys/reads.ts'
import { permissions } from '../../rules/permissions.ts'
import { pageFields } from '../http/fields.ts'

export const ApiKey = z
  .object({
    id: z.string(),
    name: z.string(),
    prefix: z.string().openapi({ description: 'The first characters of the token' }),
    permission: z.enum(permissions).openapi({
      description:
        '`full_access`: everything. `sending_access`: send and read mail. `events_only`: post events. `read_only`: ' +
        'read everything.',
    }),
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
