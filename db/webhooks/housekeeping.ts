// What workers clear up: endpoints with too much that waits, and what is left of deleted webhooks.
import { sql } from 'kysely'
import type { Db, Trx } from '../connect.ts'
import type { DisabledWebhook } from './settle.ts'

/** Disables endpoints with so many pending deliveries. @returns those */
export async function disableBacklogs(trx: Trx, pendingMax: number): Promise<DisabledWebhook[]> {
  const { rows } = await sql<DisabledWebhook>`
    with over as (
      select w.id from webhooks w
      where w.status = 'enabled' and (select count(*) from (select from webhook_deliveries d
        where d.webhook_id = w.id and d.next_at is not null limit ${pendingMax}) p) >= ${pendingMax}
      order by w.id for no key update of w
    )
    update webhooks w set status = 'disabled', disabled_reason = 'backlog', updated_at = statement_timestamp()
    from over where w.id = over.id
    returning w.id, w.workspace_id
  `.execute(trx)
  return rows
}

/** Deletes a page of the deliveries of deleted webhooks, and webhooks that have none left. @returns how many rows */
export async function deleteWebhookRemains(trx: Trx, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with gone as (
      select w.id from webhooks w where w.deleted_at is not null order by w.id limit 1 for update skip locked
    ), deliveries as (
      delete from webhook_deliveries where id in (
        select d.id from gone join webhook_deliveries d on d.webhook_id = gone.id limit ${limit})
      returning id
    ), webhook as (
      delete from webhooks w using gone
      where w.id = gone.id and (select count(*) from deliveries) = 0
      returning w.id
    )
    select ((select count(*) from deliveries) + (select count(*) from webhook))::int as count
  `.execute(trx)
  return rows[0]?.count ?? 0
}

/** How much waits for enabled endpoints (of a hundred thousand rows at most), and since when the oldest of it has. */
export async function countPendingWebhooks(
  db: Db,
): Promise<{ pending: number; oldest_at: Date | null }> {
  const { rows } = await sql<{ pending: number; oldest_at: Date | null }>`
    select count(*)::int as pending, min(p.created_at) as oldest_at from (
      select d.created_at from webhooks w join webhook_deliveries d on d.webhook_id = w.id
      where w.status = 'enabled' and d.next_at is not null limit 100000) p
  `.execute(db)
  return rows[0] ?? { pending: 0, oldest_at: null }
}
