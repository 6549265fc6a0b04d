// Writes what is suspected of ending workers. A segment's row goes with the end of the segment or of its execution.
import { type RawBuilder, sql } from 'kysely'
import type { SuspectKind } from '../../rules/wire.ts'
import type { Trx } from '../connect.ts'
import { isLive } from '../executions/live.ts'

export interface NewSuspect {
  kind: SuspectKind
  id: string
  step: string
  /** The run of the process that died while this was alone; null: it only stalled, or others ran beside it. */
  diedInRun: string | null
}

/**
 * Notes a suspect, or one more death of it: one for each run of a process. Nothing is noted of an execution that has
 * ended.
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
    select ${kind}, id, workspace_id, ${step}, ${deaths}::int, ${diedInRun}, ${now}::timestamptz
    from executions where id = ${id} and ${isLive()}
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
  sql`delete from suspects where kind = 'segment' and id in (${ids})`

/** Deletes segments of executions that ended just as they were noted. */
export async function deleteEndedSuspects(trx: Trx): Promise<void> {
  await sql`
    delete from suspects s using executions e
    where s.kind = 'segment' and e.id = s.id and e.ended_status is not null
  `.execute(trx)
}
