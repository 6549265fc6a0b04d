// What workers do with endpoints: find those that have something due, take some for themselves, read what is due, give it back.
import { sql } from 'kysely'
import { limits } from '../../rules/limits.ts'
import { placesOfOneMin, webhookLeaseMs } from '../../rules/webhooks/outcome.ts'
import type { Db, Trx } from '../connect.ts'

/** By the clock of Postgres alone: a worker's may be off. */
const leaseEnd = sql`clock_timestamp() + ${sql.lit(webhookLeaseMs)} * interval '1 ms'`

/** Whether something of the endpoint `w` may be sent now, and is due: one step into the index. */
const hasDue = sql`w.status = 'enabled' and (w.rests_until is null or w.rests_until <= statement_timestamp())
      and (w.leased_until is null or w.leased_until <= statement_timestamp())
      and exists (select from webhook_deliveries d
        where d.webhook_id = w.id and d.next_at <= statement_timestamp() limit 1)`

/**
 * The next endpoints in the order of ids that anything waits for, and whether it can be sent now. Of each endpoint one row of the
 * index is read, however much waits for it.
 */
export async function walkWebhooks(
  db: Db,
  { after, limit }: { after: string; limit: number },
): Promise<{ id: string; is_due: boolean }[]> {
  const { rows } = await sql<{ id: string; is_due: boolean }>`
    with recursive walk (id, n) as (
      (select d.webhook_id, 1 from webhook_deliveries d
        where d.next_at is not null and d.webhook_id > ${after} order by d.webhook_id limit 1)
      union all
      select (select d.webhook_id from webhook_deliveries d
        where d.next_at is not null and d.webhook_id > k.id order by d.webhook_id limit 1), k.n + 1
      from walk k where k.id is not null and k.n < ${limit}
    )
    select coalesce(k.id, '') as id, coalesce(w.is_due, false) as is_due
    from walk k left join lateral (
      select ${hasDue} as is_due from webhooks w where w.id = k.id limit 1
    ) w on true
    where k.id is not null order by k.n
  `.execute(db)
  return rows
}

/** Of some endpoints those that have something due. */
export async function listDueWebhooks(db: Db, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<{ id: string }>`
    select w.id from webhooks w where w.id = any(${[...ids]}::text[]) and ${hasDue}
  `.execute(db)
  return rows.map(({ id }) => id)
}

/** An endpoint that a worker has taken. */
export interface TakenWebhook {
  id: string
  workspace_id: string
  epoch: number
  failures: number
  /** Whether a try has succeeded, and nothing was changed since that makes it prove itself again. */
  is_proven: boolean
}

/**
 * Takes endpoints, unless another worker has them, so that one worker at a time sends to each. The lease must be renewed.
 * Workspaces take turns: of one no more than half of the free places are taken, or eight.
 * @param places how many may be taken: of those whose last try has succeeded, and of others; and the workspaces of which none may be
 */
export async function takeWebhooks(
  trx: Trx,
  ids: readonly string[],
  places: Record<'healthy' | 'others', { free: number; full: readonly string[] }>,
): Promise<TakenWebhook[]> {
  const { healthy, others } = places
  const { rows } = await sql<TakenWebhook>`
    with due as (
      select w.id, w.workspace_id, i.n, w.succeeded_at is not null and w.failures = 0 as is_healthy
      from unnest(${[...ids]}::text[]) with ordinality as i (id, n) join webhooks w on w.id = i.id
      where ${hasDue}
    ), of_own as (
      select d.*, p.free, row_number() over (partition by d.is_healthy, d.workspace_id order by d.n) as own_turn
      from due d join (values (true, ${healthy.free}::int, ${[...healthy.full]}::text[]),
          (false, ${others.free}::int, ${[...others.full]}::text[])) as p (is_healthy, free, full_ones)
        on p.is_healthy = d.is_healthy and d.workspace_id <> all(p.full_ones)
    ), wanted as (
      select o.id, o.free, row_number() over (partition by o.is_healthy order by o.own_turn, o.n) as turn
      from of_own o where o.own_turn <= greatest(${sql.lit(placesOfOneMin)}, o.free / 2)
    ), free as (
      select w.id from webhooks w join wanted x on x.id = w.id
      where x.turn <= x.free
        and (w.leased_until is null or w.leased_until <= statement_timestamp()) and w.status = 'enabled'
      for no key update of w skip locked
    )
    update webhooks w set epoch = w.epoch + 1, leased_until = ${leaseEnd}
    from free where w.id = free.id
    returning w.id, w.workspace_id, w.epoch, w.failures, w.succeeded_at is not null as is_proven
  `.execute(trx)
  return rows
}

/** An endpoint with the epoch in which a worker has it. */
export type HeldWebhook = Pick<TakenWebhook, 'id' | 'epoch'>

const held = (webhooks: readonly HeldWebhook[]) =>
  sql`jsonb_to_recordset(${JSON.stringify(webhooks)}::jsonb) as h (id text, epoch bigint)`

/**
 * Renews leases of endpoints that are enabled still. It passes over those that somebody holds, so that the others do not lose their leases.
 * @returns those that the worker still has, and whether the lease of each was renewed
 */
export async function renewWebhooks(
  trx: Trx,
  webhooks: readonly HeldWebhook[],
): Promise<{ id: string; is_renewed: boolean }[]> {
  if (webhooks.length === 0) return []
  const own = sql`from webhooks w join ${held(webhooks)} on h.id = w.id and h.epoch = w.epoch where w.status = 'enabled'`
  const { rows } = await sql<{ id: string; is_renewed: boolean }>`
    with free as (select w.id ${own} order by w.id for no key update of w skip locked),
    renewed as (
      update webhooks w set leased_until = ${leaseEnd} from free where w.id = free.id returning w.id
    )
    select w.id, exists (select from renewed r where r.id = w.id) as is_renewed ${own}
  `.execute(trx)
  return rows
}

/** Gives endpoints back, so that another worker need not wait for the end of the lease. */
export async function releaseWebhooks(trx: Trx, webhooks: readonly HeldWebhook[]): Promise<void> {
  if (webhooks.length === 0) return
  await sql`
    with given as (
      select w.id from webhooks w join ${held(webhooks)} on h.id = w.id and h.epoch = w.epoch
      order by w.id for no key update of w
    )
    update webhooks w set leased_until = null from given where w.id = given.id
  `.execute(trx)
}

/** Where what is due is sent, as it was when that was read. */
export interface WebhookTarget {
  url: string
  /** Encrypted; the newest first. */
  secrets: Buffer[]
}

/** What is to be sent. Ids are uuids. */
export interface DueWebhookDelivery {
  id: string
  event_id: string
  /** Tries that have ended. */
  attempts: number
  /** What is posted, the same at every try: it comes from one row. */
  body: string
  /** The same object for all that were read at once. */
  target: WebhookTarget
}

/** The JSON text of the event `e`, made here so that the worker neither parses a part of it nor writes it again. */
const bodyOf = sql`'{"type":' || to_json(e.type)::text || ',"timestamp":"'
        || to_char(e.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","data":' || e.data::text || '}'`

/**
 * What is due at an endpoint that the worker has, in the order in which it was. Planned at each call: a plan for few that wait
 * would read all of many.
 * @param but those that the worker has in hand
 */
export async function listDueDeliveries(
  db: Db,
  { id, epoch }: HeldWebhook,
  { but, limit }: { but: readonly string[]; limit: number },
): Promise<DueWebhookDelivery[]> {
  const { rows } = await sql<Omit<DueWebhookDelivery, 'target'> & Partial<WebhookTarget>>`
    /* due */ with held as materialized (
      select w.id, w.url, array(select s.secret from webhook_secrets s
        where s.webhook_id = w.id and (s.valid_until is null or s.valid_until > statement_timestamp())
        order by s.id desc limit ${limits.webhookSecretsMax}) as secrets
      from webhooks w where w.id = ${id} and w.epoch = ${epoch} and w.status = 'enabled'
    )
    select d.id, d.event_id, d.attempts, ${bodyOf} as body,
      case when d.is_first then w.url end as url, case when d.is_first then w.secrets end as secrets
    from held w
    cross join lateral (
      select d.*, row_number() over (order by d.next_at, d.id) = 1 as is_first from webhook_deliveries d
      where d.webhook_id = w.id and d.next_at <= statement_timestamp() and d.id <> all(${but}::uuid[])
      order by d.next_at, d.id limit ${limit}
    ) d
    cross join lateral (
      select e.type, e.at, e.data from webhook_events e where e.id = d.event_id limit 1
    ) e
    order by d.next_at, d.id
  `.execute(db)
  // It is the same for all, so it comes once.
  const target = { url: rows[0]?.url ?? '', secrets: rows[0]?.secrets ?? [] }
  return rows.map(({ id, event_id, attempts, body }) => ({ id, event_id, attempts, body, target }))
}
