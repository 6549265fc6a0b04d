// What an arriving event and a segment read of an execution's earlier waits, however many laps those make.
import { expect, test } from 'vitest'
import type { Trx } from '../../db/connect.ts'
import { listCandidates } from '../../db/events/receivers.ts'
import { findSegmentState } from '../../db/executions/segmentState.ts'
import { apiSettings } from '../../db/settings.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf, readBy } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase({ settings: apiSettings })

const LAPS = 3_000
const ws = 'ws_1' as WorkspaceId
const at = new Date(0)
const contact = { id: 'ct_1', firstSeen: at, properties: {}, before: {}, isNew: false }

await pool.query(`insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id,
    properties, created_at, updated_at)
  values ('exe_1', 'ws_1', 'wf_1', 1, 'ct_1', 'a@b.test', 'start', '{}', now(), now())`)
// After a first one two nodes take turns, and each event says its lap.
await pool.query(`insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email, properties,
    at, created_at)
  select 'evt_' || n, 'ws_1', 'ct_1', 'evt_' || n, 'moved', 'a@b.test', jsonb_build_object('lap', n), now(), now()
  from generate_series(1, ${LAPS}) n`)
await pool.query(`insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id, event_name,
    consumed_by, created_at)
  select 'exe_1', n, case when n = 1 then 'first' when n % 2 = 0 then 'even' else 'odd' end, 'ws_1', 'ct_1', 'moved', 'evt_' || n, now()
  from generate_series(1, ${LAPS}) n`)
await pool.query('analyze')

const { db: watched, asked } = noteQueries(pool)

/** What it finds of an open wait with that filter, and how many rows of earlier waits and their events it read. */
async function readWith(filter: object | null) {
  await db.deleteFrom('event_waits').where('consumed_by', 'is', null).execute()
  await db
    .insertInto('event_waits')
    .values({
      execution_id: 'exe_1',
      segment: LAPS + 1,
      node_id: 'last',
      workspace_id: ws,
      contact_id: 'ct_1',
      event_name: 'moved',
      filter: filter && JSON.stringify(filter),
      deadline: null,
      consumed_by: null,
      created_at: at,
    })
    .execute()
  asked.length = 0
  const event = { eventName: 'moved', email: 'a@b.test', properties: {}, contact, now: at }
  const hmac = () => Buffer.alloc(16)
  const [found] = await listCandidates(watched as unknown as Trx, ws, [{ ...event, hmac }])
  const read = await rowsRead('event_waits', 'automation_events')
  return { earlier: found?.waits[0]?.wait_events, read }
}

/** How many rows of these tables the statements that were asked read. */
async function rowsRead(...tables: string[]): Promise<number> {
  let read = 0
  for (const query of asked) {
    const { rows } = await pool.query(`explain (analyze, format json) ${query.sql}`, [
      ...query.parameters,
    ])
    for (const node of nodesOf(rows[0]['QUERY PLAN'][0].Plan)) {
      if (!tables.includes(node['Relation Name'] ?? '')) continue
      read += readBy(node)
    }
  }
  return read
}

const rule = (field: string) => ({ type: 'rule', field, operator: 'within_last', value: 'P1D' })

test('a filter that names no earlier wait reads none', async () => {
  for (const filter of [null, rule('event.at')]) {
    const { earlier, read } = await readWith(filter)
    expect(earlier).toBeNull()
    expect(read).toBeLessThan(20)
  }
})

test('of a node that a filter names it reads the latest event alone', async () => {
  const filter = { type: 'or', rules: [rule('wait_events.odd.at'), rule('wait_events.even.lap')] }
  const { earlier, read } = await readWith(filter)
  expect(earlier).toEqual({ odd: { lap: LAPS - 1 }, even: { lap: LAPS } })
  expect(read).toBeLessThan(40)
  expect((await readWith(rule('wait_events.odd.at'))).earlier).toEqual({ odd: { lap: LAPS - 1 } })
})

test('that of a node which it has not met for long is found as soon', async () => {
  const filter = rule('wait_events.first.lap')
  const { earlier, read } = await readWith(filter)
  expect(earlier).toEqual({ first: { lap: 1 } })
  expect(read).toBeLessThan(20)
})

test('an event that nobody waits for is told by one statement, however much else its contact waits for', async () => {
  await db.deleteFrom('event_waits').where('consumed_by', 'is', null).execute()
  await pool.query(`insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id, created_at)
    select 'exe_1', ${LAPS} + n, 'pause', 'ws_1', 'ct_1', now() from generate_series(1, 1000) n`)
  await pool.query('analyze event_waits')
  asked.length = 0
  const event = { eventName: 'other', email: 'a@b.test', properties: {}, contact, now: at }
  const hmac = () => {
    throw new Error('nothing asks who has left')
  }
  const found = await listCandidates(watched as unknown as Trx, ws, [{ ...event, hmac }])
  expect(found).toEqual([{ triggers: [], waits: [], segmentKeys: null }])
  expect(asked).toHaveLength(1)
  expect(await rowsRead('event_waits')).toBeLessThan(10)
})

test('a segment reads the latest wait of each node and its event alone', async () => {
  await db.deleteFrom('event_waits').where('consumed_by', 'is', null).execute()
  asked.length = 0
  const which = {
    executionId: 'exe_1',
    segment: LAPS + 1,
    waitedAt: 'even',
    hmac: Buffer.alloc(16),
  }
  const state = await findSegmentState(watched as unknown as Trx, ws, { ...which, now: at })
  expect(state.wait_events).toEqual({
    ...{ first: { lap: 1 }, odd: { lap: LAPS - 1 }, even: { lap: LAPS } },
  })
  expect(await rowsRead('automation_events', 'event_waits')).toBeLessThan(20)
})
