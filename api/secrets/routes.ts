// Secrets: what the requests of nodes read as `secrets.NAME`, and nobody reads back.
import { deleteSecret } from '../../commands/secrets/delete.ts'
import { putSecret } from '../../commands/secrets/put.ts'
import { listSecrets } from '../../db/secrets/reads.ts'
import { limits } from '../../rules/limits.ts'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { orThrow } from '../http/refusals.ts'
import { secretExamples } from './examples.ts'
import { SecretList, SecretName, SecretValue, StoredName, toSecret } from './schemas.ts'

const tags = ['Secrets']

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  bound: 'own',
  errors: 'error',
  tags,
  operationId: 'listSecrets',
  summary: 'List the names of secrets',
  description:
    'All secrets of the workspace by name, and when each was stored. Values are never shown.',
  example: secretExamples.list,
  request: {},
  responses: { 200: jsonBody(SecretList, 'All of them, by name') },
})

const putRoute = defineOperation({
  method: 'put',
  path: '/{name}',
  permission: 'manage',
  bound: 'own',
  errors: 'error',
  tags,
  operationId: 'putSecret',
  summary: 'Store a secret',
  description:
    'Stores a value, or replaces it, that `http_request` nodes read as `{{ secrets.NAME }}`. It is encrypted and shown to ' +
    'nobody again: neither by the interface nor in logs, steps, errors or Temporal. Requests that are to be made already ' +
    `keep the value of before. A workspace may have ${limits.secretsPerWorkspaceMax}. Those that a key for one domain stores are that domain's: ` +
    'other such keys neither see nor use them, and a name that is taken beside them is a 404.',
  codes: ['not_found'],
  example: secretExamples.put,
  request: { params: SecretName, body: jsonRequest(SecretValue) },
  responses: { 204: { description: 'It is stored' } },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{name}',
  permission: 'manage',
  bound: 'own',
  errors: 'error',
  tags,
  operationId: 'deleteSecret',
  summary: 'Delete a secret',
  description: 'Nodes that read it leave by `error` from now on, until it is stored again.',
  codes: ['not_found'],
  example: secretExamples.remove,
  request: { params: StoredName },
  responses: { 204: { description: 'It is gone' } },
})

export function secretRoutes(deps: ApiDeps) {
  const app = createRoutes()

  app.openapi(listRoute, async (c) => {
    const rows = await listSecrets(deps.db, c.var.reach)
    return c.json({ secrets: rows.map(toSecret) }, 200)
  })

  app.openapi(putRoute, async (c) => {
    const { name } = c.req.valid('param')
    const { value } = c.req.valid('json')
    orThrow(await putSecret(deps, c.var.reach, { name, value }))
    return c.body(null, 204)
  })

  app.openapi(deleteRoute, async (c) => {
    orThrow(await deleteSecret(deps, c.var.reach, c.req.valid('param')))
    return c.body(null, 204)
  })

  return app
}
