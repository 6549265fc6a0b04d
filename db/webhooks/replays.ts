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
 * The first deliveries of the period, of whatever type, in the order of ids. Each state by its part of the index, which has that order: nothing
 * is read of what was written before the period, nor of what is behind the limit. The place is compared as a whole, since with a webhook and
 * a state that equal something the primary key has that order too, with the deliveries of all others in it.
 * @param part `after`: a uuid; null begins
 */
function ofPeriod(
  workspaceId: WorkspaceId,
  { webhookId, since, until }: ReplayedPeriod,
  part: { after: string | null; limit: number },
): RawBuilder<unknown> {
  const first = firstUuid(new Date(since.getTime() - CLOCK_SLACK_MS))
  const states = deliveryStatuses.map(
    (state) => sql`(select d.id, d.event_id from webhook_deliveries d
        where (d.webhook_id, d.state, d.id) > (${webhookId}, ${state}, ${part.after ?? first}::uuid)
          and (d.webhook_id, d.state) <= (${webhookId}, ${state})
          and d.workspace_id = ${workspaceId} and d.created_at >= ${since} and d.created_at < ${until}
        order by d.webhook_id, d.state, d.id limit ${part.limit})`,
  )
  return sql`select x.id, x.event_id from (${sql.join(states, sql` union all `)}) x order by x.id limit ${part.limit}`
}

/** The event of the delivery `l` if it is there and of a type of the period: one step into the index for each, and no join that may read all events. */
const eventOf = ({ events }: ReplayedPeriod) => sql`lateral (
        select e.id from webhook_events e where e.id = l.event_id
          ${events === null ? sql`` : sql`and webhook_names(e.type) && ${[...events]}::text[]`} limit 1) e`

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

/** How many deliveries the period has; null: it has more than `max`, of whatever type, which nobody waits to have counted. */
export async function countReplayed(
  db: Db,
  workspaceId: WorkspaceId,
  period: ReplayedPeriod,
  max: number,
): Promise<number | null> {
  const { rows } = await sql<{ looked: number; count: number }>`
    select count(*)::int as looked, count(${sql.ref(period.events === null ? 'l.id' : 'e.id')})::int as count
    from (${ofPeriod(workspaceId, period, { after: null, limit: max + 1 })}) l
    ${period.events === null ? sql`` : sql`left join ${eventOf(period)} on true`}
  `.execute(db)
  const { looked, count } = rows[0] ?? { looked: 0, count: 0 }
  return looked > max ? null : count
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

/** Which deliveries of a period a page makes due again. */
interface ReplayedPage {
  /** The last of the page before, a uuid; null begins. */
  after: string | null
  /** How many at most. */
  limit: number
  /** How many it looks at to find them, at most. */
  look: number
}

/**
 * Makes the next deliveries of the period due again, whatever became of them before.
 * @returns how many; the last that it has done with, null: there was none; and whether there may be more. What was deleted while the page
 * waited for its locks it has done with
 */
export async function replayPage(
  trx: Trx,
  workspaceId: WorkspaceId,
  period: ReplayedPeriod,
  { after, limit, look }: ReplayedPage,
): Promise<{ count: number; last: string | null; more: boolean }> {
  // Lists of ids and no joins, which may read a table that is taken for a small one.
  const { rows } = await sql<{ count: number; last: string | null; more: boolean }>`
    with looked as materialized (${ofPeriod(workspaceId, period, { after, limit: look })}
    ), page as materialized (
      select l.id from looked l cross join ${eventOf(period)} order by l.id limit ${limit}
    ), locked as (
      select d.id from webhook_deliveries d where d.id = any(array(select id from page)) order by d.id for update
    ), replayed as (
      update webhook_deliveries d set state = 'pending', attempts = 0, next_at = clock_timestamp()
      where d.id = any(array(select id from locked))
      returning 1
    ), seen as (
      select (select count(*) from page) = ${limit} as is_full, (select count(*) from looked) = ${look} as has_more_behind
    )
    select (select count(*)::int from replayed) as count,
      case when s.is_full then (select p.id from page p order by p.id desc limit 1)
        else (select l.id from looked l order by l.id desc limit 1) end as last,
      s.is_full or s.has_more_behind as more
    from seen s
  `.execute(trx)
  return rows[0] ?? { count: 0, last: null, more: false }
}
