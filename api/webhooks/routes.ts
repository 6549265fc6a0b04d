// Webhooks: endpoints of the customer's that are told of events.
import { z } from '@hono/zod-openapi'
import { createWebhook } from '../../commands/webhooks/create.ts'
import { deleteWebhook } from '../../commands/webhooks/delete.ts'
import { rotateSecret } from '../../commands/webhooks/rotateSecret.ts'
import { updateWebhook } from '../../commands/webhooks/update.ts'
import { findWebhook, listWebhooks } from '../../db/webhooks/reads.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import { refuse } from '../../rules/refusals.ts'
import type { ApiDeps } from '../http/env.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { webhookExamples } from './examples.ts'
import {
  NewWebhook,
  toWebhook,
  Webhook,
  WebhookChange,
  WebhookList,
  WebhookWithSecret,
} from './schemas.ts'

const tags = ['Webhooks']
const params = z.object({ id: z.string().openapi({ description: 'The id of the webhook' }) })

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  description: 'All webhooks, newest first. Secrets are never shown again.',
  example: webhookExamples.list,
  request: { query: PageQuery },
  responses: { 200: jsonBody(WebhookList, 'Webhooks, newest first') },
})

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description:
    'The endpoint is told of events that happen from now on, by a POST that is signed as Standard Webhooks says. The ' +
    '`signing_secret` is shown here alone. A key for one domain makes a webhook that gets the events of that domain: its ' +
    'mail and the domain itself. A workspace may have ' +
    `${limits.webhooksMax}.`,
  codes: ['invalid_url', 'invalid_event_type', 'too_many_webhooks'],
  example: webhookExamples.create,
  request: { body: jsonRequest(NewWebhook) },
  responses: { 201: jsonBody(WebhookWithSecret, 'The webhook, with its secret') },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'getWebhook',
  summary: 'Get a webhook',
  description: 'The webhook, and why it is disabled if it is.',
  codes: ['not_found'],
  example: webhookExamples.get,
  request: { params },
  responses: { 200: jsonBody(Webhook, 'The webhook') },
})

const patchRoute = defineOperation({
  method: 'patch',
  path: '/{id}',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'updateWebhook',
  summary: 'Change a webhook',
  description:
    'Changes what is given. What is pending goes to a new `url`, too. `enabled` clears `disabled_reason`: what was pending ' +
    'then is sent, and what happened meanwhile was not kept.',
  codes: ['not_found', 'invalid_url', 'invalid_event_type'],
  example: webhookExamples.update,
  request: { params, body: jsonRequest(WebhookChange) },
  responses: { 200: jsonBody(Webhook, 'The webhook') },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{id}',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description:
    'Nothing is sent to it from now on. What was pending, and the list of its deliveries, are gone.',
  codes: ['not_found'],
  example: webhookExamples.remove,
  request: { params },
  responses: { 204: { description: 'Gone with its deliveries' } },
})

const rotateRoute = defineOperation({
  method: 'post',
  path: '/{id}/rotate-secret',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'rotateWebhookSecret',
  summary: 'Rotate the secret',
  description:
    'Makes a new secret. For 24 hours requests are signed with the one of before too, so that you can change it in your ' +
    'endpoint meanwhile.',
  codes: ['not_found'],
  example: webhookExamples.rotate,
  request: { params },
  responses: { 200: jsonBody(WebhookWithSecret, 'The webhook, with its new secret') },
})

export function webhookRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  const read = async (reach: Reach, id: string) => {
    const row = isId('webhook', id) ? await findWebhook(db, reach, id) : undefined
    return toWebhook(orThrow(row ?? refuse('webhook_not_found', { id })))
  }

  app.openapi(listRoute, async (c) => {
    const { workspaceId, reach } = c.var
    const page = await readPage({
      key: 'webhooks',
      cursors: cursors.of<string>({ list: 'webhooks', workspaceId }),
      cursor: c.req.valid('query').cursor,
      find: (page) => listWebhooks(db, reach, page),
      positionOf: ({ id }) => id,
      toItem: toWebhook,
    })
    return c.json(page, 200)
  })

  app.openapi(postRoute, async (c) => {
    const { id, secret } = orThrow(await createWebhook(deps, c.var.reach, c.req.valid('json')))
    return c.json({ ...(await read(c.var.reach, id)), signing_secret: secret }, 201)
  })

  app.openapi(getRoute, async (c) => c.json(await read(c.var.reach, c.req.valid('param').id), 200))

  app.openapi(patchRoute, async (c) => {
    const { id } = c.req.valid('param')
    orThrow(await updateWebhook(deps, c.var.reach, { id, change: c.req.valid('json') }))
    return c.json(await read(c.var.reach, id), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    orThrow(await deleteWebhook(deps, c.var.reach, c.req.valid('param')))
    return c.body(null, 204)
  })

  app.openapi(rotateRoute, async (c) => {
    const { id } = c.req.valid('param')
    const signing_secret = orThrow(await rotateSecret(deps, c.var.reach, { id }))
    return c.json({ ...(await read(c.var.reach, id)), signing_secret }, 200)
  })

  return app
}
