// The examples of the operations on webhooks: Acme is told what became of its mail.
import type { z } from '@hono/zod-openapi'
import { exampleIds, exampleTime } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'
import { queuedJob } from '../jobs/examples.ts'
import type {
  NewWebhook,
  ReplayPeriod,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookList,
  WebhookWithSecret,
} from './schemas.ts'

const params = { id: exampleIds.webhook }
const deliveryParams = { ...params, delivery_id: exampleIds.webhookDelivery }

const body = {
  url: 'https://acme.example/hooks/dripline',
  events: ['email.*', 'suppression.created'],
  description: 'Order mail',
} satisfies z.infer<typeof NewWebhook>

const webhook = {
  id: exampleIds.webhook,
  ...body,
  status: 'enabled',
  disabled_reason: null,
  created: exampleTime,
  updated: exampleTime,
} satisfies Webhook

const signing_secret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD0Uuc3sfB4gM='
const changed = { ...webhook, events: ['*'], updated: exampleTime + 60_000 } satisfies Webhook

const delivery = {
  id: exampleIds.webhookDelivery,
  event_id: exampleIds.webhookEvent,
  type: 'webhook.test',
  status: 'pending',
  attempts: 0,
  next_attempt_at: exampleTime,
  response_status: null,
  response_ms: null,
  created: exampleTime,
} satisfies WebhookDelivery

export const webhookExamples = {
  create: { body, answer: { ...webhook, signing_secret } satisfies WebhookWithSecret },
  list: {
    query: {},
    answer: { webhooks: [webhook], count: 1, cursor: null } satisfies z.infer<typeof WebhookList>,
  },
  get: { params, answer: webhook },
  update: {
    params,
    body: { events: ['*'] } satisfies z.infer<typeof WebhookChange>,
    answer: changed,
  },
  rotate: {
    params,
    answer: {
      ...changed,
      signing_secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl7v2Qv6ZkUxTN0sh0w6k=',
    } satisfies WebhookWithSecret,
  },
  test: { params, answer: delivery },
  deliveries: {
    params,
    query: {},
    answer: { deliveries: [delivery], count: 1, cursor: null } satisfies z.infer<
      typeof WebhookDeliveryList
    >,
  },
  replay: { params: deliveryParams, answer: delivery },
  replaySince: {
    params,
    body: { since: exampleTime, events: ['email.*'] } satisfies z.infer<typeof ReplayPeriod>,
    answer: queuedJob,
  },
  remove: { params },
} satisfies Record<string, OperationExample>
