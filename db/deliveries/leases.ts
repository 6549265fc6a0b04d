// Extends and releases the leases of claimed deliveries, and finds expired ones by what claims have noted.

import { type RawBuilder, sql } from 'kysely'
import type { UnderWayState } from '../../rules/states.ts'
import type { Db, Trx } from '../connect.ts'
import type { ClaimedDelivery } from './claim.ts'
import { isLeaseOver, isUnderWay, isUnmarked, leaseEnd, lockedById } from './guards.ts'
import type { ShardRange } from './lines.ts'

/**
 * Extends the leases of deliveries under way: they last so long from now on. It passes over those that somebody holds, so that the others do
 * not lose their leases meanwhile. @returns the ids of those whose leases were extended
 */
export async function extendLeases(
  trx: Trx,
  ids: number[],
  leaseToken: string,
  leaseMs: number,
): Promise<Set<number>> {
  const which = sql`lease_token = ${leaseToken}::uuid and ${isUnderWay}`
  const { rows } = await sql<{ id: number }>`
    with held as (${lockedById(sql`= any(${ids}::bigint[])`, which)} skip locked),
    extended as (
      update deliveries d set lease_until = ${leaseEnd(leaseMs)} from held where d.id = held.id returning d.id
    )
    select id from extended
  `.execute(trx)
  return new Set(rows.map(({ id }) => id))
}

/**
 * Returns claimed deliveries without the mark `data_sent` to their former state. The attempt does not count.
 * @param whenHeld whether one that somebody holds is waited for, or keeps its lease
 */
export async function releaseDeliveries(
  trx: Trx,
  deliveries: readonly Pick<ClaimedDelivery, 'id' | 'was'>[],
  leaseToken: string,
  whenHeld: 'wait' | 'passOver' = 'wait',
): Promise<void> {
  const ids = deliveries.map(({ id }) => id)
  const which = sql`lease_token = ${leaseToken}::uuid and ${isUnmarked}`
  await sql`
    with held as (${lockedById(sql`= any(${ids}::bigint[])`, which)} ${whenHeld === 'wait' ? sql`` : sql`skip locked`})
    update deliveries d
    set state = g.was, attempt = attempt - 1, lease_token = null, lease_until = null, ready = false
    from held join unnest(${ids}::bigint[], ${deliveries.map(({ was }) => was)}::text[]) as g (id, was)
      on g.id = held.id
    where d.id = held.id
  `.execute(trx)
}

export type ExpiredLease = Pick<
  ClaimedDelivery,
  'id' | 'email_id' | 'attempt' | 'expires_at' | 'resent' | 'last_response'
> & { state: UnderWayState }

/** How many notes of claims one statement looks at. */
const CLAIMS_MAX = 200

/** The place of a note in the order in which notes are looked at. */
export interface NotePlace {
  until: Date
  id: number
}

const FIRST: NotePlace = { until: new Date(0), id: 0 }

/**
 * A step `looked`: notes of claims from these shards of which a lease may have ended, behind the place. Whoever looks walks over
 * all of them, because those that cannot go yet stay in front: what they note may be another lane's, or not to be settled.
 */
const lookedStep = ({ from, to }: ShardRange, after: NotePlace, lock = sql``) =>
  sql`looked as materialized (
      select c.id, c.until, c.token, c.ids from delivery_claims c
      where c.until <= statement_timestamp() and c.from_shard < ${to} and c.to_shard > ${from}
        and (c.until, c.id) > (${after.until}::timestamptz, ${after.id}::bigint)
      order by c.until, c.id limit ${sql.lit(CLAIMS_MAX)} ${lock}
    )`

/** What a note `l` tells of, by the ids alone: a plan that is kept must not take an index that looks as good while it is empty. */
const notedRows = (columns: RawBuilder<unknown>) =>
  sql`(select ${columns} from deliveries where id = any(l.ids) offset 0)`

/** How far the step `looked` came. */
interface LookedTo {
  note_id: number
  note_until: Date
  looked: number
}
const lookedTo = sql`(
      select l.id as note_id, l.until as note_until, (count(*) over ())::int as looked
      from looked l order by l.until desc, l.id desc limit 1
    )`

/** Where to go on, or null if all were looked at. */
const nextPlace = (row: LookedTo | undefined): NotePlace | null =>
  row?.looked === CLAIMS_MAX ? { until: row.note_until, id: row.note_id } : null

/**
 * Deliveries whose lease has expired because their worker died. They are found by the notes of the claims that took them.
 * @param after goes on behind this note
 * @returns what the next notes tell of, and where to go on
 */
export async function listExpiredLeases(
  db: Db,
  shards: ShardRange,
  after = FIRST,
): Promise<{ leases: ExpiredLease[]; next: NotePlace | null }> {
  const columns = sql`id, email_id, attempt, expires_at, resent, last_response, state`
  const { rows } = await sql<ExpiredLease & LookedTo>`
    with ${lookedStep(shards, after)},
    expired as (
      select distinct on (d.id) d.*
      from looked l cross join lateral ${notedRows(sql`${columns}, shard, lease_until`)} d
      where ${isLeaseOver} and shard >= ${shards.from} and shard < ${shards.to} and ${isUnderWay}
    )
    select ${columns}, note_id, note_until, looked from ${lookedTo} p left join expired e on true
  `.execute(db)
  const leases = rows.filter(({ id }) => id !== null)
  return { leases, next: nextPlace(rows[0]) }
}

/**
 * Deletes the notes of claims that have nothing under way any more. Of others it puts off the next look until the first of
 * their leases ends. Those of which a lease has ended it leaves to `listExpiredLeases`.
 * @param after goes on behind this note
 * @returns where to go on
 */
export async function forgetClaims(
  trx: Trx,
  shards: ShardRange,
  after = FIRST,
): Promise<NotePlace | null> {
  const { rows } = await sql<LookedTo>`
    with ${lookedStep(shards, after, sql`for update skip locked`)},
    held as materialized (
      select l.id, min(d.lease_until) as until
      from looked l cross join lateral ${notedRows(sql`lease_token, lease_until`)} d
      where d.lease_token = l.token and d.lease_until is not null
      group by l.id
    ),
    kept as (
      update delivery_claims c set until = h.until from held h
      where c.id = h.id and h.until > statement_timestamp()
    ),
    gone as (
      delete from delivery_claims c
      where c.id = any(array(select id from looked except select id from held))
    )
    select * from ${lookedTo} p
  `.execute(trx)
  return nextPlace(rows[0])
}

/** Of the deliveries with these ids those that are marked and have this lease. */
export async function listMarked(
  db: Db,
  ids: number[],
  leaseToken: string,
): Promise<ExpiredLease[]> {
  const { rows } = await sql<ExpiredLease>`
    select id, email_id, attempt, expires_at, resent, last_response, state
    from deliveries
    where id = any(${ids}::bigint[]) and lease_token = ${leaseToken}::uuid and state = 'data_sent'
  `.execute(db)
  return rows
}
