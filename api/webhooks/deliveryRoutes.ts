// What was sent to a webhook: the list, one delivery again, and an event for a test.
import { z } from '@hono/zod-openapi'
import { replayDelivery } from '../../commands/webhooks/replay.ts'
import { replaySince } from '../../commands/webhooks/replaySince.ts'
import { testWebhook } from '../../commands/webhooks/sendTest.ts'
import { findJob } from '../../db/jobs/reads.ts'
import { findWebhook, findWebhookDelivery, listWebhookDeliveries } from '../../db/webhooks/reads.ts'
import { isId, type WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { refuse } from '../../rules/refusals.ts'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { Job, toJob } from '../jobs/schemas.ts'
import { webhookExamples } from './examples.ts'
import {
  ReplayPeriod,
  toWebhookDelivery,
  WebhookDeliveriesQuery,
  WebhookDelivery,
  WebhookDeliveryList,
} from './schemas.ts'

const tags = ['Webhooks']
const params = z.object({ id: z.string().openapi({ description: 'The id of the webhook' }) })

const testRoute = defineOperation({
  method: 'post',
  path: '/{id}/test',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'testWebhook',
  summary: 'Send a test event',
  description:
    'Sends `webhook.test` to this endpoint, whatever it asks for. The list of its deliveries tells what it answered. A ' +
    'disabled one gets it when it is enabled.',
  codes: ['not_found'],
  example: webhookExamples.test,
  request: { params },
  responses: { 202: jsonBody(WebhookDelivery, 'It is about to be sent') },
})

const listRoute = defineOperation({
  method: 'get',
  path: '/{id}/deliveries',
  permission: 'read',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'listWebhookDeliveries',
  summary: 'List deliveries',
  description: 'What was sent to the endpoint, or is about to be, newest first.',
  codes: ['not_found'],
  example: webhookExamples.deliveries,
  request: { params, query: WebhookDeliveriesQuery },
  responses: { 200: jsonBody(WebhookDeliveryList, 'Deliveries, newest first') },
})

const replayRoute = defineOperation({
  method: 'post',
  path: '/{id}/deliveries/{delivery_id}/replay',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'replayWebhookDelivery',
  summary: 'Replay a delivery',
  description:
    'Sends the event once more, whether it had succeeded or not, with the same `webhook-id`; a failing one is tried as ' +
    'often as at first.',
  codes: ['not_found'],
  example: webhookExamples.replay,
  request: {
    params: params.extend({
      delivery_id: z.string().openapi({ description: 'The id of the delivery' }),
    }),
  },
  responses: { 202: jsonBody(WebhookDelivery, 'It is about to be sent') },
})

const replaySinceRoute = defineOperation({
  method: 'post',
  path: '/{id}/replay',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'replayWebhook',
  summary: 'Replay a period',
  description:
    'Sends once more all that was written for the endpoint since a time, whether it had succeeded or not, each event with its ' +
    '`webhook-id`. The answer is a job: `GET /v1/jobs/{id}` says how far it is. While 10,000 deliveries wait for the endpoint ' +
    'it waits too. One replay of a webhook is done at a time.',
  codes: ['not_found', 'invalid_event_type', 'replay_in_progress'],
  example: webhookExamples.replaySince,
  request: { params, body: jsonRequest(ReplayPeriod) },
  responses: { 202: jsonBody(Job, 'The job') },
})

export function webhookDeliveryRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  const read = async (workspaceId: WorkspaceId, webhookId: string, id: string) => {
    const row = await findWebhookDelivery(db, workspaceId, webhookId, id)
    return toWebhookDelivery(orThrow(row ?? refuse('webhook_delivery_not_found', { id })))
  }

  const requireWebhook = async (reach: Reach, id: string) => {
    const row = isId('webhook', id) ? await findWebhook(db, reach, id) : undefined
    orThrow(row ?? refuse('webhook_not_found', { id }))
  }

  app.openapi(testRoute, async (c) => {
    const { id } = c.req.valid('param')
    const delivery = orThrow(await testWebhook(deps, c.var.reach, { id }))
    return c.json(await read(c.var.workspaceId, id, delivery), 202)
  })

  app.openapi(listRoute, async (c) => {
    const { workspaceId, reach } = c.var
    const { id } = c.req.valid('param')
    const { status, cursor } = c.req.valid('query')
    await requireWebhook(reach, id)
    const page = await readPage({
      key: 'deliveries',
      cursors: cursors.of<string>({
        list: 'webhook-deliveries',
        workspaceId,
        filter: { id, status },
      }),
      cursor,
      find: (page) =>
        listWebhookDeliveries(db, workspaceId, { webhookId: id, state: status ?? null }, page),
      positionOf: (row) => row.id,
      toItem: toWebhookDelivery,
    })
    return c.json(page, 200)
  })

  app.openapi(replaySinceRoute, async (c) => {
    const { reach } = c.var
    const input = { ...c.req.valid('json'), ...c.req.valid('param') }
    const id = orThrow(await replaySince(deps, reach, input))
    const job = await findJob(db, reach, id)
    return c.json(toJob(orThrow(job ?? refuse('job_not_found', { id }))), 202)
  })

  app.openapi(replayRoute, async (c) => {
    const { id, delivery_id: deliveryId } = c.req.valid('param')
    const delivery = orThrow(await replayDelivery(deps, c.var.reach, { id, deliveryId }))
    return c.json(await read(c.var.workspaceId, id, delivery), 202)
  })

  return app
}
