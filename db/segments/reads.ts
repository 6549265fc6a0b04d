// Reads segments of contacts, and what conditions that name them need of them.
import { type RawBuilder, sql } from 'kysely'
import type { Condition } from '../../rules/conditions/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'
import type { Row } from '../schema.ts'

export type SegmentRow = Row<'segments'>

export function findSegmentRow(
  db: Db,
  workspaceId: WorkspaceId,
  id: string,
): Promise<SegmentRow | undefined> {
  return db
    .selectFrom('segments')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Of each segment of the workspace those that it names. */
export async function listSegmentLinks(
  db: Db,
  workspaceId: WorkspaceId,
): Promise<Map<string, string[]>> {
  const rows = await db
    .selectFrom('segments')
    .select(['id', 'named_ids'])
    .where('workspace_id', '=', workspaceId)
    .orderBy('id')
    .execute()
  return new Map(rows.map(({ id, named_ids }) => [id, named_ids]))
}

/** Joins to rows `n` the segment `s` of their id, each by the primary key, however many the planner expects. */
export const segmentOf = (workspaceId: WorkspaceId): RawBuilder<unknown> => sql`
      cross join lateral (select x.id, x.condition, x.named_ids from segments x
        where x.workspace_id = ${workspaceId} and x.id = n.id limit 1) as s`

/** The conditions of segments and of all that these name, by id; one that there is not is not among them. */
export async function findSegmentConditions(
  trx: Trx,
  workspaceId: WorkspaceId,
  ids: readonly string[],
): Promise<Record<string, Condition>> {
  if (ids.length === 0) return {}
  const { rows } = await sql<{ id: string; condition: Condition }>`
    with recursive named (id) as (
      select unnest(${ids}::text[])
      union
      select unnest(s.named_ids) from named n ${segmentOf(workspaceId)}
    )
    select s.id, s.condition from named n ${segmentOf(workspaceId)}
  `.execute(trx)
  return Object.fromEntries(rows.map(({ id, condition }) => [id, condition]))
}
