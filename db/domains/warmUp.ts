// Stores the places of the warm-up. They are given out under the sending domain's lock, so that no two lanes give out
// the same place.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { DayPlaces } from '../../rules/mail/warmUp.ts'
import type { WaitingState } from '../../rules/states.ts'
import type { Db, Trx } from '../connect.ts'
import { isPutOff, isUnmarked, lockedById } from '../deliveries/guards.ts'

/** Which of these domains are still warming up. */
export async function listColdDomains(db: Db, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('domains')
    .select('id')
    .where('id', 'in', ids)
    .where('is_warmed_up', '=', false)
    .execute()
  return new Set(rows.map((row) => row.id))
}

export interface ColdDomain {
  id: string
  /** Its days with places that were given out, each once. */
  days: DayPlaces[]
}

/**
 * Locks domains in the order of their ids and reads their reserved places. Domains that are warmed up are left
 * out.
 */
export async function lockColdDomains(trx: Trx, ids: readonly string[]): Promise<ColdDomain[]> {
  const locked = await trx
    .selectFrom('domains')
    .select('id')
    .where('id', 'in', ids)
    .where('is_warmed_up', '=', false)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  if (locked.length === 0) return []
  // A second statement, because only its snapshot shows everything that was committed before the locks were taken.
  const { rows } = await sql<DayPlaces & { domain_id: string }>`
    select domain_id, day::text, reserved from domain_days
    where domain_id = any(${locked.map(({ id }) => id)}::text[])
  `.execute(trx)
  return locked.map(({ id }) => ({
    id,
    days: rows
      .filter((row) => row.domain_id === id)
      .map(({ day, reserved }) => ({ day, reserved })),
  }))
}

/** Adds to the places of days that were given out; a negative change gives places back. */
export async function changeDayPlaces(
  trx: Trx,
  changes: readonly { domain_id: string; day: string; change: number }[],
): Promise<void> {
  await sql`
    insert into domain_days as d (domain_id, day, reserved)
    select domain_id, day, greatest(0, change) from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
      as c (domain_id text, day date, change integer)
    on conflict (domain_id, day) do update
    set reserved = greatest(0, d.reserved + (
      select c.change from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
        as c (domain_id text, day date, change integer)
      where c.domain_id = d.domain_id and c.day = d.day))
  `.execute(trx)
}

/** The place of a claimed delivery. */
export interface PlacedDelivery {
  id: number
  /** Today, `YYYY-MM-DD`; null: it has no place. */
  slot_day: string | null
  /** When it is due; null: now, it stays claimed. */
  next_at: Date | null
  /** When it expires then; null: it stays as it is. */
  expires_at: Date | null
}

/**
 * Writes the places of claimed deliveries. A delivery without a place returns to its former state, its attempt does not
 * count, and it expires when its place says, but not earlier than before. If that is before the time at which it would be
 * due, it is due a moment before it expires: too late to be tried once more.
 * @param why the last response of mail that waits and was never tried
 */
export async function placeDeliveries(
  trx: Trx,
  placed: readonly (PlacedDelivery & { was: WaitingState })[],
  leaseToken: string,
  why: string,
): Promise<void> {
  const which = sql`lease_token = ${leaseToken}::uuid and ${isUnmarked}`
  const expires = sql`greatest(d.expires_at, p.expires_at)`
  await sql`
    with place as (
      select * from jsonb_to_recordset(${JSON.stringify(placed)}::jsonb)
        as p (id bigint, slot_day date, next_at timestamptz, expires_at timestamptz, was text)
    ),
    held as (${lockedById(sql`in (select id from place)`, which)}),
    given as (update deliveries d set slot_day = p.slot_day
      from place p join held on held.id = p.id where d.id = p.id and p.next_at is null
    )
    update deliveries d
    set slot_day = null, ready = false, state = p.was, attempt = d.attempt - 1,
        next_at = least(p.next_at, ${expires} - interval '1 ms'), expires_at = ${expires},
        last_response = coalesce(d.last_response, ${why}),
        lease_until = null, lease_token = null
    from place p join held on held.id = p.id
    where d.id = p.id and p.next_at is not null
  `.execute(trx)
}

/** Ends the warm-up of domains. */
export async function setWarmedUp(trx: Trx, ids: readonly string[], now: Date): Promise<void> {
  await trx
    .updateTable('domains')
    .set({ is_warmed_up: true, warmed_up_at: now })
    .where('id', 'in', ids)
    .execute()
}

/** Begins the warm-up of a domain anew: it is cold, and no day of it has given out a place. */
export async function startLadder(
  trx: Trx,
  workspaceId: WorkspaceId,
  domainId: string,
): Promise<void> {
  await trx
    .updateTable('domains')
    .set({ is_warmed_up: false, warmed_up_at: null })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', domainId)
    .execute()
  await trx.deleteFrom('domain_days').where('domain_id', '=', domainId).execute()
}

/**
 * Makes mail of a domain that was never tried and is due later due now, in one shard. Passes over mail that somebody
 * holds. @returns how many, at most `limit`
 */
export async function hastenUntried(
  trx: Trx,
  workspaceId: WorkspaceId,
  which: { domainId: string; shard: number; now: Date; limit: number },
): Promise<number> {
  const { domainId, shard, now, limit } = which
  const { rows } = await sql<{ id: number }>`
    with later as (
      select id from deliveries
      where shard = ${shard} and ${isPutOff} and not scheduled and workspace_id = ${workspaceId} and domain_id = ${domainId}
        and next_at > ${now}
      order by id limit ${limit} for update skip locked
    )
    update deliveries d set next_at = ${now}, ready = false, slot_day = null
    from later where d.id = later.id returning d.id
  `.execute(trx)
  return rows.length
}
