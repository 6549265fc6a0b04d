// Webhooks of a benchmark, and the ledger of what is to be sent to them.
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { transact } from '../commands/transact.ts'
import { makeWebhookSecret } from '../commands/webhooks/secret.ts'
import { insertWebhook, tellWebhooks } from '../db/webhooks/writes.ts'
import { createSecrets } from '../runtime/secrets.ts'
import { SECRET_KEY } from './servers.ts'
import { newId, type Workspace } from './workspace.ts'

/** What the endpoints of the full ledger ask for, and what is measured one at a time. */
export const BULK = 'email.delivered'
export const SINGLE = 'email.sent'

const secrets = createSecrets(Buffer.from(SECRET_KEY, 'base64'))

/** Data such as an event of an email has. */
export const eventData = (n: number) => ({
  email_id: newId('email'),
  type: 'transactional',
  recipient: `user-${n}@mail-${n % 300}.example.test`,
  from: 'Bench <hello@sender.test>',
  subject: `Your receipt ${n}`,
  tags: { kind: 'receipt', shop: 'north' },
  metadata: { order_id: `order-${n}`, total: 49.9 },
  timestamp: Date.now(),
})

/** Makes a webhook as the API does. @returns its secret, as its owner sees it */
export async function addWebhook(
  { db, workspaceId }: Workspace,
  url: string,
  event: string,
): Promise<string> {
  const { shown, encrypted } = makeWebhookSecret(secrets)
  const at = new Date()
  const row = {
    id: newId('webhook'),
    domain_id: null,
    url,
    events: [event],
    description: null,
    status: 'enabled' as const,
    disabled_reason: null,
    created_at: at,
    updated_at: at,
  }
  await transact({ db, wake: () => undefined }, ({ db: trx }) =>
    insertWebhook(trx, workspaceId, row, encrypted),
  )
  return shown
}

/** Tells of so many events in one commit, by the function that all triggers call. Nothing of it is sent before `letGo`. */
export async function fillLedger({ db, workspaceId }: Workspace, events: number): Promise<void> {
  await sql`update webhooks set rests_until = 'infinity' where workspace_id = ${workspaceId}`.execute(
    db,
  )
  await sql`
    select tell_webhooks(${workspaceId}, ${BULK}, now(), ${JSON.stringify(eventData(1))}::jsonb
      || jsonb_build_object('subject', 'Your receipt ' || n), null)
    from generate_series(1, ${events}::int) n`.execute(db)
  await sql`vacuum analyze webhook_deliveries, webhook_events`.execute(db)
}

/** Lets the endpoints be sent to. */
export async function letGo({ db, workspaceId }: Workspace): Promise<void> {
  await sql`update webhooks set rests_until = null where workspace_id = ${workspaceId}`.execute(db)
}

/** How much of it has not succeeded. */
export async function countOpen({ db, workspaceId }: Workspace): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from webhook_deliveries d join webhooks w on w.id = d.webhook_id
    where w.workspace_id = ${workspaceId} and d.next_at is not null`.execute(db)
  return rows[0]?.count ?? 0
}

/** Tells of one event after the other, with the time in each. */
export async function tellGently(
  { db, workspaceId }: Workspace,
  { count, every_ms }: { count: number; every_ms: number },
): Promise<void> {
  for (let n = 0; n < count; n++) {
    const at = new Date()
    const data = { ...eventData(n), told_at: at.getTime() }
    await transact({ db, wake: () => undefined }, ({ db: trx }) =>
      tellWebhooks(trx, workspaceId, { type: SINGLE, at, data, domainId: null }),
    )
    await pause(every_ms)
  }
}

const OF_WORKSPACE = 50

/**
 * Makes endpoints at which nobody answers, fifty of a workspace, with some deliveries each. Every second one refuses connections; the
 * others take them.
 */
export async function addDead(
  { db }: Workspace,
  { count, silentPort }: { count: number; silentPort: number },
): Promise<void> {
  const { encrypted } = makeWebhookSecret(secrets)
  await sql`
    insert into workspaces (id, name, created_at)
    select 'ws_dead' || n, 'dead ' || n, now() from generate_series(0, ${count}::int / ${OF_WORKSPACE}::int) n`.execute(
    db,
  )
  await sql`
    insert into webhooks (id, workspace_id, url, events, status, created_at, updated_at)
    select 'wh_dead' || n, 'ws_dead' || n / ${OF_WORKSPACE}::int,
      case when n % 2 = 0 then 'http://127.0.0.1:1/' else 'http://127.0.0.1:' || ${silentPort}::int || '/' end,
      '{*}', 'enabled', now(), now()
    from generate_series(1, ${count}::int) n`.execute(db)
  await sql`
    insert into webhook_secrets (webhook_id, secret)
    select 'wh_dead' || n, ${encrypted}::bytea from generate_series(1, ${count}::int) n`.execute(db)
  await sql`
    select tell_webhooks(w.id, ${BULK}, now(), ${JSON.stringify(eventData(1))}::jsonb, null)
    from workspaces w, generate_series(1, 5) n where w.id like 'ws_dead%'`.execute(db)
  await sql`vacuum analyze webhook_deliveries, webhook_events, webhooks`.execute(db)
}
