// API keys: list and revoke. The first one comes from the command line.
import { z } from '@hono/zod-openapi'
import { revokeApiKey } from '../../commands/api-keys/revoke.ts'
import { listApiKeys } from '../../db/api-keys/reads.ts'
import type { ApiDeps } from '../http/env.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, jsonBody } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { apiKeyExamples } from './examples.ts'
import { ApiKeyList, toApiKey } from './schemas.ts'

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read_keys',
  bound: 'own',
  errors: 'message',
  tags: ['API keys'],
  summary: 'List API keys',
  description:
    'The keys that were not revoked, newest first. A key itself is shown once, when it is made by ' +
    '`npm run key:create`; only its hash is stored.',
  example: apiKeyExamples.list,
  request: { query: PageQuery },
  responses: { 200: jsonBody(ApiKeyList, 'Live keys, newest first') },
})

const revokeRoute = defineOperation({
  method: 'delete',
  path: '/{id}',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags: ['API keys'],
  summary: 'Revoke an API key',
  description:
    'Requests with the key are refused, within a second everywhere. There is no way back: make another ' +
    'key. A key may revoke itself.',
  codes: ['not_found'],
  example: apiKeyExamples.revoke,
  request: { params: z.object({ id: z.string().openapi({ description: 'The id of the key' }) }) },
  responses: { 204: { description: 'The key works no more' } },
})

export function apiKeyRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const page = await readPage({
      key: 'api_keys',
      cursors: cursors.of<string>({ list: 'api-keys', workspaceId }),
      cursor: c.req.valid('query').cursor,
      find: (page) => listApiKeys(db, c.var.reach, page),
      positionOf: ({ id }) => id,
      toItem: toApiKey,
    })
    return c.json(page, 200)
  })

  app.openapi(revokeRoute, async (c) => {
    orThrow(await revokeApiKey(deps, c.var.reach, c.req.valid('param')))
    return c.body(null, 204)
  })

  return app
}
