// API keys: list and revoke. The first one comes from the command line.
import { createRoute, z } from '@hono/zod-openapi'
import { listApiKeys } from '../../db/api-keys/reads.ts'
import { revokeApiKey } from '../../db/api-keys/writes.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { ApiDeps } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { createRoutes, errorResponses, jsonBody } from '../http/openapi.ts'
import { ApiKeyList, toApiKey } from './schemas.ts'

const listRoute = createRoute({
  method: 'get',
  path: '/',
  tags: ['API keys'],
  request: { query: z.object({ cursor: z.string().optional() }) },
  responses: { 200: jsonBody(ApiKeyList, 'Live keys, newest first'), ...errorResponses(400) },
})

const revokeRoute = createRoute({
  method: 'delete',
  path: '/{id}',
  tags: ['API keys'],
  request: { params: z.object({ id: z.string() }) },
  responses: { 204: { description: 'The key works no more' }, ...errorResponses(404) },
})

export function apiKeyRoutes({ db, now, cursors, keyCache }: ApiDeps) {
  const app = createRoutes()

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const scope = { list: 'api-keys', workspaceId }
    const after = cursors.open<string>(scope, c.req.valid('query').cursor)
    const found = await listApiKeys(db, workspaceId, { after, limit: limits.pageSize + 1 })
    const { rows, cursor } = cursors.page(scope, found, ({ id }) => id)
    return c.json({ api_keys: rows.map(toApiKey), count: rows.length, cursor }, 200)
  })

  app.openapi(revokeRoute, async (c) => {
    const { id } = c.req.valid('param')
    const revoked = isId('apiKey', id) && (await revokeApiKey(db, c.var.workspaceId, id, now()))
    if (!revoked) throw notFound(`API key ${id} not found`)
    keyCache.clear()
    return c.body(null, 204)
  })

  return app
}
