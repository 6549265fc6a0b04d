// Pages of all live executions are read by the index of live ones, however many others there are.
import { expect, test } from 'vitest'
import { type LivePosition, type LiveRow, listLiveRows } from '../../db/executions/lost.ts'
import { workerSettings } from '../../db/settings.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase({ settings: workerSettings })
const ROWS = 30_000
const LIMIT = 500

test('each live execution is on one page, and a page reads no others', async () => {
  // One in ten lives; a contact has five of them, in two workflows.
  await pool.query(`insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id,
      ended_status, created_at, updated_at, completed_at)
    select 'exe_' || lpad(n::text, 6, '0'), 'ws_' || n % 3, 'wf_' || n / 10 % 2, 1, 'ct_' || lpad((n / 50)::text, 6, '0'),
      'a@b.test', 'start', case when n % 10 > 0 then 'COMPLETED' end, now(), now(), case when n % 10 > 0 then now() end
    from generate_series(1, ${ROWS}) n`)
  await pool.query(`insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, next_at, created_at)
    select 'signal', 'exe_' || lpad(n::text, 6, '0'), 'ws_1', 'wf_1', 'ct_1', now(), now()
    from generate_series(1, ${ROWS}) n where n % 100 = 0`)
  await pool.query('analyze')
  const { db: watched, asked } = noteQueries(pool)
  const found: LiveRow[] = []
  let after: LivePosition | null = null
  do {
    const page: LiveRow[] = await listLiveRows(watched, after, LIMIT)
    found.push(...page)
    after = page.length === LIMIT ? (page.at(-1) ?? null) : null
  } while (after)
  const live = await db
    .selectFrom('executions')
    .select('id')
    .where('ended_status', 'is', null)
    .execute()
  expect(found.map(({ id }) => id).sort()).toEqual(live.map(({ id }) => id).sort())
  expect(found.filter((row) => row.is_queued)).toHaveLength(ROWS / 100)

  expect(asked.length).toBeGreaterThan(3)
  for (const { sql, parameters } of asked) {
    const { rows } = await pool.query(`explain (analyze, format json) ${sql}`, [...parameters])
    const nodes = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)]
    // The last pages come by a bitmap of the same index.
    const names = nodes.flatMap((node) => node['Index Name'] ?? [])
    expect([...new Set(names)].sort()).toEqual(['executions_live', 'outbox_execution'])
    const ofExecutions = nodes.filter((node) => node['Relation Name'] === 'executions')
    expect(ofExecutions.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    const read = ofExecutions.map(
      (node) => node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0),
    )
    expect(Math.max(...read)).toBeLessThan(LIMIT + 20)
  }
})
