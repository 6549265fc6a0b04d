// Reads how far the warm-up of domains is, for the command line of an operator.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { DayPlaces } from '../../rules/mail/warmUp.ts'
import type { Db } from '../connect.ts'
import { isPutOff } from '../deliveries/guards.ts'

export interface WarmUpRow {
  id: string
  workspace_id: WorkspaceId
  name: string
  is_warmed_up: boolean
  warmed_up_at: Date | null
  /** Its days with places that were given out, each once. */
  days: DayPlaces[]
  /** Mail that was never tried and is due later. */
  waiting: number
}

/**
 * Domains with their warm-up, in the order of their names.
 * @param which a name (then of each workspace that has it) or an id; null: all that are not warm
 */
export async function listWarmUps(db: Db, which: string | null, now: Date): Promise<WarmUpRow[]> {
  const whose =
    which === null
      ? sql`d.deleted_at is null and not d.is_warmed_up`
      : sql`d.id = ${which} or (d.deleted_at is null and d.name = ${which.toLowerCase()})`
  const { rows } = await sql<WarmUpRow>`
    select d.id, d.workspace_id, d.name, d.is_warmed_up, d.warmed_up_at,
      coalesce((
        select json_agg(json_build_object('day', y.day, 'reserved', y.reserved) order by y.day)
        from domain_days y where y.domain_id = d.id
      ), '[]'::json) as days,
      coalesce(w.count, 0)::int as waiting
    from domains d
    left join (
      select domain_id, count(*) as count from deliveries
      where ${isPutOff} and not scheduled and next_at > ${now} group by domain_id
    ) w on w.domain_id = d.id
    where ${whose}
    order by d.name, d.id
  `.execute(db)
  return rows
}
