// Writes what is suspected of ending workers. A row goes when what it is about has ended, or ended well alone.
import { type RawBuilder, sql } from 'kysely'
import type { SuspectKind } from '../../rules/wire.ts'
import type { Trx } from '../connect.ts'
import { isLive } from '../executions/live.ts'

export interface NewSuspect {
  kind: SuspectKind
  /** Of a segment the id of its execution; of a delivery `suspectDeliveryId`. */
  id: string
  step: string
  /** The run of the process that died while this was alone; null: it only stalled, or others ran beside it. */
  diedInRun: string | null
}

/** For each kind the one that the id names, while it has not ended. */
const liveOnes: Record<SuspectKind, (id: string) => RawBuilder<unknown>> = {
  segment: (id) => sql`select workspace_id from executions where id = ${id} and ${isLive()}`,
  email: (id) => sql`
    select workspace_id from deliveries where email_id = ${id} and settled_at is null limit 1`,
  delivery: (id) => sql`
    select workspace_id from deliveries
    where email_id = split_part(${id}, '/', 1) and id::text = split_part(${id}, '/', 2) and settled_at is null`,
}

/** The id of a delivery as a suspect: that of its email, which its suspects are found by, and its own. */
export const suspectDeliveryId = (emailId: string, deliveryId: number) => `${emailId}/${deliveryId}`

/**
 * Notes a suspect, or one more death of it: one for each run of a process. Nothing is noted of an execution that has
 * ended, or of mail of which nothing waits or is under way.
 * @returns the row as it is now; undefined if nothing changed
 */
export async function upsertSuspect(
  trx: Trx,
  { kind, id, step, diedInRun }: NewSuspect,
  now: Date,
): Promise<{ workspace_id: string; deaths: number } | undefined> {
  const deaths = diedInRun === null ? 0 : 1
  const { rows } = await sql<{ workspace_id: string; deaths: number }>`
    insert into suspects (kind, id, workspace_id, step, deaths, last_run, noted_at)
    select ${kind}, ${id}, workspace_id, ${step}, ${deaths}::int, ${diedInRun}, ${now}::timestamptz
    from (${liveOnes[kind](id)}) live
    on conflict (kind, id) do update set step = excluded.step,
      deaths = suspects.deaths + 1, last_run = excluded.last_run, noted_at = excluded.noted_at
    where excluded.deaths > 0 and suspects.last_run is distinct from excluded.last_run
    returning workspace_id, deaths
  `.execute(trx)
  return rows[0]
}

/**
 * A step of a `with`: the executions of a relation are suspects no more.
 * @param ids a query of ids
 */
export const cleared = (ids: RawBuilder<unknown>) =>
  sql`delete from suspects where kind = 'segment' and id = any(array(${ids}))`

/** A suspect that was alone and has ended well is one no more. */
export async function clearSuspect(trx: Trx, kind: SuspectKind, id: string): Promise<void> {
  await sql`delete from suspects where kind = ${kind} and id = ${id}`.execute(trx)
}

/** Deletes what ended just as it was noted, and what was given up. */
export async function deleteEndedSuspects(trx: Trx): Promise<void> {
  await sql`
    delete from suspects s
    where (s.kind = 'segment' and exists (select from executions e where e.id = s.id and e.ended_status is not null))
      or (s.kind = 'email' and not exists (select from deliveries d where d.email_id = s.id and d.settled_at is null))
      or (s.kind = 'delivery' and not exists (select from deliveries d where d.email_id = split_part(s.id, '/', 1)
        and d.id::text = split_part(s.id, '/', 2) and d.settled_at is null))
  `.execute(trx)
}
