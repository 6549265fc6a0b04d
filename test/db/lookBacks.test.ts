// What a look-back compares where an execution has waited very often.
import { expect, test } from 'vitest'
import type { Trx } from '../../db/connect.ts'
import { listRecentEvents } from '../../db/events/reads.ts'
import { workerSettings } from '../../db/settings.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf } from '../setup/planNodes.ts'

const { pool } = await createTestDatabase({ settings: workerSettings })

const LAPS = 1_000
const ws = 'ws_1' as WorkspaceId

const { db: watched, asked } = noteQueries(pool)

/** Of a lap an event that ended a wait of it: every second one while it waited for something else. */
async function insertLaps(): Promise<void> {
  await pool.query(`insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email, properties,
      at, created_at)
    select 'evt_' || n, 'ws_1', 'ct_1', 'evt_' || n, 'moved', 'a@b.test', jsonb_build_object('lap', n), now(), now()
    from generate_series(0, ${LAPS}) n`)
  await pool.query(`insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id, event_name,
      consumed_by, ended_by, ended_with, created_at)
    select 'exe_1', n, 'wait', 'ws_1', 'ct_1', 'moved', case n % 2 when 0 then 'evt_' || n end,
      case n % 2 when 1 then 'condition' end, case n % 2 when 1 then 'evt_' || n end, now()
    from generate_series(1, ${LAPS}) n`)
  await pool.query('analyze')
}

test('each event is not compared with each wait', async () => {
  await insertLaps()
  const look = { eventName: 'moved', since: new Date(0), byExecution: 'exe_1', limit: 100 }
  const found = await listRecentEvents(watched as unknown as Trx, ws, 'ct_1', look)
  expect(found, 'that which ended none').toEqual([{ id: 'evt_0', properties: { lap: 0 } }])
  const others = { ...look, byExecution: 'exe_2' }
  expect(await listRecentEvents(watched as unknown as Trx, ws, 'ct_1', others)).toHaveLength(100)
  const [query] = asked
  const { rows } = await pool.query(`explain (analyze, format json) ${query?.sql}`, [
    ...(query?.parameters ?? []),
  ])
  const looks = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)].map(
    (node) =>
      (node['Actual Rows'] +
        (node['Rows Removed by Filter'] ?? 0) +
        (node['Rows Removed by Join Filter'] ?? 0)) *
      node['Actual Loops'],
  )
  expect(looks.reduce((sum, one) => sum + one, 0)).toBeLessThan(20 * LAPS)
})
