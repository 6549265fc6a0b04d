// A sender of webhooks in the test's own process, and the rows that it works on.
import { sql } from 'kysely'
import { onTestFinished } from 'vitest'
import type { WebhookDeps, WebhookOutcome } from '../../delivery/webhooks/deps.ts'
import type { WebhookPlaces } from '../../delivery/webhooks/places.ts'
import { startWebhookSender } from '../../delivery/webhooks/run.ts'
import { createOutbound } from '../../runtime/outbound.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import type { TestApi } from './api.ts'
import { TEST_SECRET_KEY } from './processes.ts'

/** The dependencies of a sender that may connect to this machine. */
export function webhookDeps(
  { db, deps }: Pick<TestApi, 'db' | 'deps'>,
  more: Partial<WebhookDeps> = {},
): WebhookDeps & { outcomes: WebhookOutcome[] } {
  const outcomes: WebhookOutcome[] = []
  return {
    db,
    log: deps.log,
    now: () => new Date(),
    wake: () => undefined,
    secrets: createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64')),
    outbound: createOutbound({ mayConnect: () => true }),
    config: { allowPrivateWebhooks: true },
    metrics: { tried: (outcome) => void outcomes.push(outcome), disabled: () => undefined },
    ...more,
    outcomes,
  }
}

/** Starts a sender, which is stopped after the test. */
export function startTestSender(
  api: Pick<TestApi, 'db' | 'deps'>,
  more: Partial<WebhookDeps> = {},
  places?: WebhookPlaces,
) {
  const deps = webhookDeps(api, more)
  const sender = startWebhookSender(deps, places)
  onTestFinished(() => sender.stop())
  return { ...sender, outcomes: deps.outcomes }
}

interface WebhookState {
  state: string
  attempts: number
  response_status: number | null
  /** Until the next try, rounded to seconds; null: there is none. */
  in_s: number | null
}

/** The deliveries of a webhook, in the order in which they were written. */
export async function deliveriesOf({ db }: Pick<TestApi, 'db'>, id: string) {
  const { rows } = await sql<WebhookState>`
    select d.state, d.attempts, d.response_status,
      round(extract(epoch from d.next_at - clock_timestamp()))::int as in_s
    from webhook_deliveries d where d.webhook_id = ${id} order by d.created_at, d.id
  `.execute(db)
  return rows
}

/** Makes what waits until later due now, and lets the endpoint rest no more. */
export async function hasten({ db }: Pick<TestApi, 'db'>, id: string): Promise<void> {
  await sql`update webhooks set rests_until = null where id = ${id}`.execute(db)
  await sql`
    update webhook_deliveries set next_at = clock_timestamp() where webhook_id = ${id} and next_at is not null
  `.execute(db)
}
