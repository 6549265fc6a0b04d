// Tables of webhooks: endpoints, their secrets, the events that they are told of, and a row for each event and endpoint.
import type { Generated } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { DeliveryStatus, DisabledReason, WebhookStatus } from '../../rules/webhooks/states.ts'
import type { Defaulted, JsonColumn, JsonObject } from './columns.ts'

export interface WebhooksTable {
  id: string
  workspace_id: WorkspaceId
  /** The domain of the key that made it, whose events alone it gets; null: those of the whole workspace. */
  domain_id: string | null
  url: string
  /** Types, `group.*` or `*`, as they were given. */
  events: string[]
  description: string | null
  status: WebhookStatus
  disabled_reason: DisabledReason | null
  /** Failed tries since the last success, whatever their event. */
  failures: Defaulted<number>
  /** When the first of them was, or the first after a silence (`webhookSilentDays`); null: none has failed since. */
  failing_since: Defaulted<Date | null>
  /** When a try last failed; null: none has, or a worker of a release before this column has noted it. */
  failed_at: Defaulted<Date | null>
  /** A success of its URL; null: it has had none, or must prove itself again (`updateWebhook`). */
  succeeded_at: Defaulted<Date | null>
  /** Until then nothing is tried; null: it does not rest. */
  rests_until: Defaulted<Date | null>
  /** Rises each time that a worker takes it: only the one with this epoch settles its deliveries. */
  epoch: Defaulted<number>
  /** Until then that worker alone sends to it; null: nobody has it. By the clock of Postgres. */
  leased_until: Defaulted<Date | null>
  /** Since when it is gone for everybody but the workers that delete its deliveries. */
  deleted_at: Defaulted<Date | null>
  created_at: Date
  updated_at: Date
}

export interface WebhookSecretsTable {
  webhook_id: string
  id: Generated<number>
  /** 32 bytes, encrypted with SECRET_KEY. */
  secret: Buffer
  /** null: it is the newest. */
  valid_until: Date | null
}

/** What is told to endpoints: the body, once for all of them. */
export interface WebhookEventsTable {
  /** `webhook-id`, see `rules/webhooks/ids.ts`; it begins with the time at which it was written. */
  id: string
  workspace_id: WorkspaceId
  type: string
  at: Date
  data: JsonColumn<JsonObject>
}

export interface WebhookDeliveriesTable {
  id: string
  webhook_id: string
  event_id: string
  workspace_id: WorkspaceId
  state: Defaulted<DeliveryStatus>
  /** Tries that have ended. */
  attempts: Defaulted<number>
  /** When it is due; null: it has ended. */
  next_at: Date | null
  /** Of the last try; null: there was no answer. */
  response_status: Defaulted<number | null>
  response_ms: Defaulted<number | null>
  created_at: Date
}

/** That somebody has complained about what was delivered, so that webhooks are told of it once. */
export interface ComplaintsTable {
  delivery_id: number
  workspace_id: WorkspaceId
  at: Date
}
