// The replay of a period: deliveries of one webhook, page by page in the order of their ids.
import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { deliveryStatuses } from '../../rules/webhooks/states.ts'
import type { Db, Trx } from '../connect.ts'
import { firstUuid } from './firstUuid.ts'

export interface ReplayedPeriod {
  webhookId: string
  /** Deliveries that were written then or later, and before `until`. */
  since: Date
  until: Date
  /** What `events` of a webhook may hold; null: all. */
  events: readonly string[] | null
}

/** An id and `created_at` are of one moment, by the clock of Postgres, which may be set between the two. */
const CLOCK_SLACK_MS = 60_000

/**
 * Each state by its part of the index, which has the order of ids: nothing is read of what was written before the period.
 * @param part `after`: a uuid; null begins
 */
function ofPeriod(
  workspaceId: WorkspaceId,
  { webhookId, since, until, events }: ReplayedPeriod,
  part: { after: string | null; limit: number | null },
): RawBuilder<unknown> {
  const first = firstUuid(new Date(since.getTime() - CLOCK_SLACK_MS))
  return sql.join(
    deliveryStatuses.map(
      (
        state,
      ) => sql`(select d.id from webhook_deliveries d join webhook_events e on e.id = d.event_id
        where d.workspace_id = ${workspaceId} and d.webhook_id = ${webhookId} and d.state = ${state}
          and d.id > ${part.after ?? first}::uuid and d.created_at >= ${since} and d.created_at < ${until}
          ${events === null ? sql`` : sql`and webhook_names(e.type) && ${[...events]}::text[]`}
        order by d.id ${part.limit === null ? sql`` : sql`limit ${part.limit}`})`,
    ),
    sql` union all `,
  )
}

/**
 * The end of a period that ends now, by the clock of Postgres, which writes when a delivery was made. The time of a delivery may be rounded
 * up to the next millisecond, and the end itself is no part of the period: so now is rounded likewise, and a millisecond is added.
 */
export async function findReplayEnd(db: Db): Promise<Date> {
  const { rows } = await sql<{ until: Date }>`
    select clock_timestamp()::timestamptz(3) + interval '1 ms' as until
  `.execute(db)
  const [row] = rows
  if (!row) throw new Error('the end of a period was answered by no row')
  return row.until
}

/** How many deliveries the period has. */
export async function countReplayed(
  db: Db,
  workspaceId: WorkspaceId,
  period: ReplayedPeriod,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (${ofPeriod(workspaceId, period, { after: null, limit: null })}) d
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** Whether so many deliveries wait for the webhook, or more. */
export async function hasBacklog(
  db: Db,
  workspaceId: WorkspaceId,
  webhookId: string,
  pending: number,
): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (select from webhook_deliveries d
      where d.workspace_id = ${workspaceId} and d.webhook_id = ${webhookId} and d.next_at is not null
      limit ${pending}) p
  `.execute(db)
  return (rows[0]?.count ?? 0) >= pending
}

/**
 * Makes the next deliveries of the period due again, whatever became of them before.
 * @param after the last of the page before, a uuid; null begins
 * @returns how many; how many the page has, with those that were deleted while it waited for their locks; and the last of these,
 * null: there were none
 */
export async function replayPage(
  trx: Trx,
  workspaceId: WorkspaceId,
  period: ReplayedPeriod,
  { after, limit }: { after: string | null; limit: number },
): Promise<{ count: number; seen: number; last: string | null }> {
  const { rows } = await sql<{ count: number; seen: number; last: string | null }>`
    with page as (
      select x.id from (${ofPeriod(workspaceId, period, { after, limit })}) x
      order by x.id limit ${limit}
    ), locked as (
      select d.id from webhook_deliveries d join page on page.id = d.id order by d.id for update of d
    ), replayed as (
      update webhook_deliveries d set state = 'pending', attempts = 0, next_at = clock_timestamp()
      from locked where d.id = locked.id
      returning 1
    )
    select (select count(*)::int from replayed) as count, (select count(*)::int from page) as seen,
      (select p.id from page p order by p.id desc limit 1) as last
  `.execute(trx)
  return rows[0] ?? { count: 0, seen: 0, last: null }
}
