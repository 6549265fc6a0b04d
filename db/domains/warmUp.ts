// Stores the places of the warm-up. They are reserved under the sending domain's lock, so that no two lanes give
// out the same place.

import { sql } from 'kysely'
import type { DayPlaces } from '../../rules/mail/warmUp.ts'
import type { WaitingState } from '../../rules/states.ts'
import type { Db, Trx } from '../connect.ts'
import { isUnmarked } from '../deliveries/guards.ts'

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
  /** Its days with reserved places, each once. */
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

/** Adds to the reserved places of days; a negative change releases places. */
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
  /** `YYYY-MM-DD` */
  slot_day: string
  /** When it is due; null: now, it stays claimed. */
  next_at: Date | null
}

/**
 * Writes the places of claimed deliveries. A delivery with a place on a later day returns to its former state, its
 * attempt does not count, and it expires later by the same time.
 */
export async function placeDeliveries(
  trx: Trx,
  placed: readonly (PlacedDelivery & { was: WaitingState })[],
  leaseToken: string,
  now: Date,
): Promise<void> {
  await sql`
    with place as (
      select * from jsonb_to_recordset(${JSON.stringify(placed)}::jsonb)
        as p (id bigint, slot_day date, next_at timestamptz, was text)
    )
    update deliveries d
    set slot_day = p.slot_day,
        state = case when p.next_at is null then d.state else p.was end,
        attempt = case when p.next_at is null then d.attempt else d.attempt - 1 end,
        next_at = coalesce(p.next_at, d.next_at),
        expires_at = d.expires_at + (coalesce(p.next_at, ${now}) - ${now}::timestamptz),
        lease_until = case when p.next_at is null then d.lease_until end,
        lease_token = case when p.next_at is null then d.lease_token end
    from place p
    where d.id = p.id and d.lease_token = ${leaseToken}::uuid and ${isUnmarked}
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
