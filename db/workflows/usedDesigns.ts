// Finds the designs that run now or may again, by texts that they hold.
import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'

/**
 * The designs that run now or may again, and contain one of these texts as a value or a key: the active version of
 * each workflow that is or was active, and the versions that executions still run, also of archived workflows. The
 * caller checks what the text means there. Each of these designs is unpacked, and no other.
 * @param texts of letters, digits, `_` and `-`, which JSON writes as they are
 */
export async function listUsedDesignsHolding(
  db: Db,
  workspaceId: WorkspaceId,
  texts: string[],
): Promise<{ id: string; isActive: boolean; design: object }[]> {
  const quoted = texts.map((text) => `"${text}"`)
  // Which versions are used is known before any design is read: `live` steps from one that executions run to the next. Designs are read and searched by subqueries, since the planner may run a join
  // over every version of every workspace, or unpack each design several times; `offset 0` makes each a text once. The comment keeps the
  // statement unnamed (db/statementNames.ts), so that it is planned by how much there is now.
  const { rows } = await sql<{ id: string; isActive: boolean; design: object }>`
    /* used */ with recursive live (id, version) as (
      select w.id, ${firstLive(sql`e.workflow_id = w.id`)} from workflows w where w.workspace_id = ${workspaceId}
      union all
      select l.id, ${firstLive(sql`e.workflow_id = l.id and e.version > l.version`)} from live l where l.version is not null
    ), used as materialized (
      select u.id, u.version, w.status = 'active' and w.archived_at is null and w.active_version is not distinct from u.version as is_active
      from (
        select id, version from live where version is not null
        union
        select id, active_version from workflows
        where workspace_id = ${workspaceId} and archived_at is null and active_version is not null) u
      join workflows w on w.id = u.id
    )
    select d.id, d.design, d.is_active as "isActive"
    from (
      select v.id, v.is_active, v.design, v.design::text as text from (
        select u.id, u.is_active,
          (select design from workflow_versions where workflow_id = u.id and version = u.version) as design
        from used u offset 0) v offset 0) d
    where (select bool_or(strpos(d.text, held.text) > 0) from unnest(${quoted}::text[]) as held (text))
  `.execute(db)
  return rows
}

/** SQL: the first version that executions `e` still run: one step into an index, however many do. */
const firstLive = (where: RawBuilder<unknown>) => sql`(
  select e.version from executions e where ${where} and e.ended_status is null order by e.version limit 1)`
