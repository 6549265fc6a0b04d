// API keys: make, list, rotate and revoke. The first one comes from the command line.
import { z } from '@hono/zod-openapi'
import { createKeyByKey } from '../../commands/api-keys/createByKey.ts'
import type { RequestKey } from '../../commands/api-keys/keyCache.ts'
import { revokeApiKey } from '../../commands/api-keys/revoke.ts'
import { rotateApiKey } from '../../commands/api-keys/rotate.ts'
import { listApiKeys } from '../../db/api-keys/reads.ts'
import type { ApiDeps } from '../http/env.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { apiKeyExamples } from './examples.ts'
import { ApiKeyList, MadeApiKey, NewApiKey, RotateApiKey, toApiKey } from './schemas.ts'

const params = z.object({ id: z.string().openapi({ description: 'The id of the key' }) })

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'manage',
  bound: 'carries',
  errors: 'message',
  tags: ['API keys'],
  operationId: 'createApiKey',
  summary: 'Make an API key',
  description:
    'Makes another key of the workspace, for the user of the key that asks. A key gives no more than it has: the new one ' +
    'has no more permission, is for the same domain where the key that asks is for one, and ends no later. Its `token` is ' +
    'in this answer alone; only its hash is stored.',
  codes: ['not_found'],
  example: apiKeyExamples.create,
  request: { body: jsonRequest(NewApiKey) },
  responses: { 201: jsonBody(MadeApiKey, 'The key, with its token') },
})

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read_keys',
  bound: 'own',
  errors: 'message',
  tags: ['API keys'],
  operationId: 'listApiKeys',
  summary: 'List API keys',
  description:
    'The keys that were not revoked, newest first; those that have expired are among them. `last_used_at` says which are ' +
    'in use. A token is shown once, when it is made; only its hash is stored.',
  example: apiKeyExamples.list,
  request: { query: PageQuery },
  responses: { 200: jsonBody(ApiKeyList, 'Live keys, newest first') },
})

const rotateRoute = defineOperation({
  method: 'post',
  path: '/{id}/rotate',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags: ['API keys'],
  operationId: 'rotateApiKey',
  summary: 'Rotate an API key',
  description:
    'Gives the key a new token. Everything else of it stays, its id too. The token before works for `grace_ms` more, ' +
    'so that all who have it can be given the new one; tokens of earlier rotations keep what is left of their time. ' +
    'With 0 only the new token works from now on. A key may rotate itself.',
  codes: ['not_found', 'api_key_expired'],
  example: apiKeyExamples.rotate,
  request: { params, body: jsonRequest(RotateApiKey) },
  responses: { 201: jsonBody(MadeApiKey, 'The key, with its new token') },
})

const revokeRoute = defineOperation({
  method: 'delete',
  path: '/{id}',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags: ['API keys'],
  operationId: 'deleteApiKey',
  summary: 'Revoke an API key',
  description:
    'Requests with the key are refused, within a second everywhere, with its tokens from before a rotation too. There is ' +
    'no way back: make another key. A key may revoke itself.',
  codes: ['not_found'],
  example: apiKeyExamples.revoke,
  request: { params },
  responses: { 204: { description: 'The key works no more' } },
})

const makerOf = (key: RequestKey) => ({
  id: key.id,
  tokenHash: key.token_hash,
  userId: key.user_id,
  permission: key.permission,
  expiresAt: key.expires_at,
})

export function apiKeyRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  app.openapi(postRoute, async (c) => {
    const { name, permission, domain_id: domainId, expires_at: expiresAt } = c.req.valid('json')
    const input = { name, permission, domainId, expiresAt }
    const maker = makerOf(c.var.key)
    const { row, token } = orThrow(await createKeyByKey(deps, c.var.reach, maker, input))
    return c.json({ ...toApiKey(row), token }, 201)
  })

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

  app.openapi(rotateRoute, async (c) => {
    const input = { ...c.req.valid('param'), ...c.req.valid('json') }
    const maker = makerOf(c.var.key)
    const { row, token } = orThrow(await rotateApiKey(deps, c.var.reach, maker, input))
    return c.json({ ...toApiKey(row), token }, 201)
  })

  app.openapi(revokeRoute, async (c) => {
    orThrow(await revokeApiKey(deps, c.var.reach, c.req.valid('param')))
    return c.body(null, 204)
  })

  return app
}
