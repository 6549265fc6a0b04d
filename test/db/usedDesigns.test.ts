// Which designs are in use is found without reading executions one by one, however many run and however many versions there are.
import { type CompiledQuery, sql } from 'kysely'
import { expect, test } from 'vitest'
import { apiSettings } from '../../db/settings.ts'
import { listUsedDesignsHolding } from '../../db/workflows/usedDesigns.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf, readBy } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase({ settings: apiSettings })
const VERSIONS = 60
const LIVE = 20_000
/** One of before, which an execution still runs. */
const OLD = 3

test('the designs that run or may run again are found, and no other is read, of many versions with many executions', async () => {
  await sql`insert into workspaces values ('ws_1', 'test', now())`.execute(db)
  await sql`
    insert into workflows (id, workspace_id, name, status, current_version, active_version, created_by, created_by_type,
      created_at, updated_at)
    values ('wf_1', 'ws_1', 'W', 'active', ${VERSIONS}, ${VERSIONS}, 'u', 'user', now(), now())`.execute(
    db,
  )
  await sql`
    insert into workflow_versions (workflow_id, version, workspace_id, design, created_by, created_at)
    select 'wf_1', n, 'ws_1', jsonb_build_object('version', n, 'uses', 'tpl_1'), 'u', now()
    from generate_series(1, ${VERSIONS}::int) n`.execute(db)
  await sql`
    insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, created_at, updated_at)
    select 'exe_' || n, 'ws_1', 'wf_1', case when n = 1 then ${OLD}::int else ${VERSIONS}::int end, 'ct_' || n, 'a@b.test',
      'start', now(), now()
    from generate_series(1, ${LIVE}::int) n`.execute(db)
  await sql`analyze`.execute(db)
  const { db: watched, asked } = noteQueries(pool)
  const used = await listUsedDesignsHolding(watched, 'ws_1' as WorkspaceId, ['tpl_1'])
  const byVersion = used.map(({ design, isActive }) => ({ ...design, isActive }))
  expect(byVersion).toHaveLength(2)
  expect(byVersion).toEqual(
    expect.arrayContaining([
      { version: OLD, uses: 'tpl_1', isActive: false },
      { version: VERSIONS, uses: 'tpl_1', isActive: true },
    ]),
  )
  const [query] = asked
  if (!query) throw new Error('nothing was asked')
  const read = (await nodesRead(query)).map(({ rows }) => rows)
  expect(Math.max(...read)).toBeLessThan(10 * VERSIONS)
  await sql`insert into workspaces values ('ws_2', 'other', now())`.execute(db)
  await sql`
    insert into workflows (id, workspace_id, name, status, current_version, created_by, created_by_type, created_at, updated_at)
    values ('wf_2', 'ws_2', 'W', 'active', 3000, 'u', 'user', now(), now())`.execute(db)
  // Versions that nothing runs, here and in another workspace, are not looked at.
  await sql`
    insert into workflow_versions (workflow_id, version, workspace_id, design, created_by, created_at)
    select 'wf_' || w, ${VERSIONS}::int + n, 'ws_' || w, '{"uses": "tpl_1"}', 'u', now()
    from generate_series(1, 2) w, generate_series(1, 3000) n`.execute(db)
  for (const analyze of [false, true]) {
    if (analyze) await sql`analyze`.execute(db)
    const designs = (await nodesRead(query)).filter(({ table }) => table === 'workflow_versions')
    expect(designs.map(({ rows }) => rows)).toEqual([2])
  }
})

/** How many rows each node of its plan reads. */
async function nodesRead({ sql: text, parameters }: CompiledQuery) {
  const { rows } = await pool.query(`explain (analyze, format json) ${text}`, [...parameters])
  return [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)].map((node) => ({
    table: node['Relation Name'],
    rows: readBy(node),
  }))
}
