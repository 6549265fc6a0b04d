// The dependencies of sending to webhooks.
import type { Logger } from 'pino'
import type { Db } from '../../db/connect.ts'
import type { Wake } from '../../db/wake.ts'
import type { Outbound } from '../../runtime/outbound.ts'
import type { Secrets } from '../../runtime/secrets.ts'

/** How a try ended, for the operator's metrics. */
export type WebhookOutcome = 'succeeded' | 'refused' | 'unanswered'

export interface WebhookMetrics {
  tried(outcome: WebhookOutcome, took_ms: number): void
  disabled(): void
}

export interface WebhookDeps {
  db: Db
  log: Logger
  now: () => Date
  wake: Wake
  secrets: Pick<Secrets, 'decrypt'>
  /** The client that judges addresses. */
  outbound: Outbound
  config: {
    /** Whether http, other ports and private addresses are sent to. */
    allowPrivateWebhooks: boolean
  }
  metrics: WebhookMetrics
}
