// Schemas of webhooks and their deliveries.
import { z } from '@hono/zod-openapi'
import type { CreateWebhookInput } from '../../commands/webhooks/create.ts'
import { toWebhookData } from '../../commands/webhooks/data.ts'
import type { WebhookChange as Change } from '../../commands/webhooks/update.ts'
import type { WebhookDeliveryRow, WebhookRow } from '../../db/webhooks/reads.ts'
import { limits } from '../../rules/limits.ts'
import { toShownId } from '../../rules/webhooks/ids.ts'
import { deliveryStatuses, disabledReasons, webhookStatuses } from '../../rules/webhooks/states.ts'
import { oneIsGiven, PageQuery, pageFields, TIME_MAX_MS, textField } from '../http/fields.ts'

const status = z.enum(webhookStatuses).openapi({
  description: 'Nothing is sent to a `disabled` one, and no further events are kept for it',
})

export const Webhook = z
  .object({
    id: z.string(),
    url: z.string(),
    events: z.array(z.string()).openapi({ description: 'What it asks for, as it was given' }),
    description: z.string().nullable(),
    status,
    disabled_reason: z
      .enum(disabledReasons)
      .nullable()
      .openapi({
        description:
          '`manual`: by this API. `gone`: the endpoint has answered 410. `failing`: tries have failed for ' +
          `${limits.webhookFailingDays} days, and none has succeeded. \`backlog\`: over ${limits.webhookPendingMax.toLocaleString('en-US')} ` +
          'deliveries were pending. null while it is enabled',
      }),
    created: z.int(),
    updated: z.int(),
  })
  .openapi('Webhook')
export type Webhook = z.infer<typeof Webhook>

export const WebhookWithSecret = Webhook.extend({
  signing_secret: z
    .string()
    .nullable()
    .openapi({
      description:
        '`whsec_` and base64, as Standard Webhooks writes it. It is shown here and never again: it is null where an ' +
        'Idempotency-Key gives the answer again',
    }),
}).openapi('WebhookWithSecret')
export type WebhookWithSecret = z.infer<typeof WebhookWithSecret>

export const WebhookList = z
  .object({ webhooks: z.array(Webhook), ...pageFields })
  .openapi('WebhookList')

const url = textField(limits.webhookUrlCharsMax).min(1).openapi({
  description:
    'https, port 443 or 8443, at a public address; redirects are not followed. No user or password',
  example: 'https://acme.example/hooks/dripline',
})
const events = z
  .array(textField(limits.nameCharsMax))
  .min(1)
  .max(limits.webhookEventsMax)
  .openapi({ description: 'Types of events, whole groups as `email.*`, or `*`' })
const description = textField(limits.webhookDescriptionCharsMax).nullable()

export const NewWebhook = z
  .object({ url, events, description: description.optional() })
  .openapi('NewWebhook') satisfies z.ZodType<CreateWebhookInput>

export const WebhookChange = z
  .object({
    url: url.optional(),
    events: events.optional(),
    description: description.optional(),
    status: status.optional(),
  })
  .refine(...oneIsGiven('url', 'events', 'description', 'status'))
  .openapi('WebhookChange') satisfies z.ZodType<Change>

export const WebhookDelivery = z
  .object({
    id: z.string(),
    event_id: z.string().openapi({
      description: 'The `webhook-id` of its requests, the same at every try and at every endpoint',
    }),
    type: z.string().openapi({ description: 'Of the event' }),
    status: z.enum(deliveryStatuses).openapi({
      description: '`failed`: every try has failed. It can be replayed',
    }),
    attempts: z.int().openapi({ description: 'Tries that have ended' }),
    next_attempt_at: z.int().nullable().openapi({
      description: 'When it is due; null unless it is `pending`',
    }),
    response_status: z.int().nullable().openapi({
      description: 'Of the last try; null when there was no answer, and before the first',
    }),
    response_ms: z.int().nullable().openapi({ description: 'How long the last try took' }),
    created: z.int(),
  })
  .openapi('WebhookDelivery')
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

export const WebhookDeliveryList = z
  .object({ deliveries: z.array(WebhookDelivery), ...pageFields })
  .openapi('WebhookDeliveryList')

export const WebhookDeliveriesQuery = PageQuery.extend({
  status: z
    .enum(deliveryStatuses)
    .optional()
    .openapi({ description: 'Only deliveries with this status' }),
})

export const ReplayPeriod = z
  .object({
    since: z.int().min(0).max(TIME_MAX_MS).openapi({
      description: 'Milliseconds since 1970 (UTC): deliveries that were written then or later',
      example: 1_793_610_000_000,
    }),
    events: events
      .optional()
      .openapi({ description: 'Of these types alone; all when it is absent' }),
  })
  .openapi('ReplayPeriod')

export const toWebhook: (row: WebhookRow) => Webhook = toWebhookData

export const toWebhookDelivery = (row: WebhookDeliveryRow): WebhookDelivery => ({
  id: toShownId('webhookDelivery', row.id),
  event_id: toShownId('webhookEvent', row.event_id),
  type: row.type,
  status: row.state,
  attempts: row.attempts,
  next_attempt_at: row.next_at?.getTime() ?? null,
  response_status: row.response_status,
  response_ms: row.response_ms,
  created: row.created_at.getTime(),
})
