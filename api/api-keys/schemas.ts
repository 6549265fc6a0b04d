// API keys as the API shows them; never the token.
import { z } from '@hono/zod-openapi'
import type { listApiKeys } from '../../db/api-keys/reads.ts'
import { permissions } from '../../rules/permissions.ts'

export const ApiKey = z
  .object({
    id: z.string(),
    name: z.string(),
    prefix: z.string().openapi({ description: 'The first characters of the token' }),
    permission: z.enum(permissions),
    domain_id: z.string().nullable(),
    expires_at: z.int().nullable(),
    last_used_at: z.int().nullable(),
    created: z.int(),
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
  .object({ api_keys: z.array(ApiKey), count: z.int(), cursor: z.string().nullable() })
  .openapi('ApiKeyList')
