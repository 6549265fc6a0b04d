// How the statements of segments and of ends find rows: by the executions and the contacts that they are of, whenever the plan was
// made that is kept.
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import type { Trx } from '../../db/connect.ts'
import { findConcerned } from '../../db/events/concerned.ts'
import type { ArrivedEvent } from '../../db/events/receivers.ts'
import { insertUnawaitedEvents } from '../../db/events/writes.ts'
import { type AskedEntry, listAdmissions } from '../../db/executions/admissions.ts'
import { findSegmentState } from '../../db/executions/segmentState.ts'
import { insertSegment, type SegmentWrites } from '../../db/executions/segments.ts'
import {
  cancelExecutions,
  closeExecution,
  insertManualStart,
  type ManualStart,
} from '../../db/executions/writes.ts'
import { workerSettings } from '../../db/settings.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { captureSql } from '../setup/capturedSql.ts'
import { createTestDatabase } from '../setup/database.ts'
import { addAutomation, whileTablesGrow } from '../setup/growingTables.ts'
import { now, seedWorkspace } from '../setup/harness.ts'
import { nodesOf, type PlanNode } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase({ settings: workerSettings })
const { workspaceId } = await seedWorkspace(db)

const writes: SegmentWrites = {
  executionId: 'exe_1',
  segment: 1,
  result: {},
  steps: [],
  isReleased: false,
  left: null,
  waits: [],
  depth: null,
  end: null,
  now: now(),
}
const end: SegmentWrites['end'] = {
  status: 'COMPLETED',
  reason: null,
  outcome: null,
  error: null,
  stepId: 'end',
  stepCount: 2,
  code: null,
}
const event = {
  id: 'evt_1',
  contact_id: 'con_1',
  event_name: 'email.sent',
  email: '1@mail.test',
  properties: {},
  at: now(),
  depth: 0,
}

const hmac = Buffer.alloc(32)
const at = { executionId: 'exe_1', segment: 1, waitedAt: 'wait', hmac, now: now() }
const contact = { id: 'con_1', firstSeen: now(), properties: {}, before: {}, isNew: false }
const arrived = { eventName: 'ordered', contact, hmac: () => hmac, now: now() } as ArrivedEvent
const entry: AskedEntry = {
  contactId: 'con_1',
  workflowId: 'wfl_1',
  earlier: 'any',
  key: null,
  oftenSince: now(),
}
const start: ManualStart = {
  id: 'exe_0',
  workflowId: 'wfl_1',
  version: 1,
  contactId: 'con_1',
  email: '1@mail.test',
  triggerNodeId: 'start',
  properties: {},
  now: now(),
}
const cancelled = { status: 'CANCELLED', reason: 'by hand', outcome: null, error: null } as const

async function firstColumnsOfIndexes(): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ index: string; first: string }>(
    `select indexrelid::regclass::text as index, a.attname::text as first from pg_index
      join pg_attribute a on a.attrelid = indexrelid and a.attnum = 1`,
  )
  return new Map(rows.map(({ index, first }) => [index, first]))
}

/** Of what each statement reads of these tables: the index, and by what. */
async function readsOf(texts: readonly string[]): Promise<string[]> {
  const reads = new Set<string>()
  const firstColumns = await firstColumnsOfIndexes()
  for (const text of texts) {
    const { rows } = await pool.query(`explain (generic_plan, format json) ${text}`)
    for (const node of nodesOf(rows[0]['QUERY PLAN'][0].Plan)) {
      const given = node as typeof node & { 'Index Cond'?: string }
      const index = given['Index Name'] ?? given['Node Type']
      const isOfIndex = given['Node Type'] === 'Bitmap Index Scan'
      // Also of a table that is empty here: the plan that is kept would read it so when it is full.
      if (given['Node Type'] === 'Seq Scan') reads.add(`${given['Relation Name']} as a whole`)
      if (
        !/^(contacts|event_waits|executions|execution_steps|execution_segments|automation_events)/.test(
          given['Relation Name'] ?? index,
        )
      )
        continue
      if (!/Scan/.test(given['Node Type']) || given['Node Type'] === 'Bitmap Heap Scan') continue
      // An index of which a later column alone is named is read for each value of the first.
      const first = firstColumns.get(index) ?? ''
      const condition = given['Index Cond'] ?? ''
      const names =
        /\b(execution_id|contact_id|id) = /.test(condition) &&
        new RegExp(`\\b${first} = `).test(condition)
      reads.add(`${isOfIndex ? '' : given['Relation Name']} ${index}${names ? '' : ' as a whole'}`)
    }
  }
  return [...reads].sort()
}

const statements: string[] = []
beforeAll(async () => {
  const all: ((trx: Trx) => Promise<unknown>)[] = [
    (trx) => insertSegment(trx, workspaceId, writes),
    (trx) => insertSegment(trx, workspaceId, { ...writes, end }),
    (trx) => insertUnawaitedEvents(trx, workspaceId, [event], now()),
    (trx) => findSegmentState(trx, workspaceId, at),
    (trx) => findConcerned(trx, workspaceId, [arrived]),
    (trx) => listAdmissions(trx, workspaceId, [entry]),
    (trx) => insertManualStart(trx, workspaceId, start),
    (trx) => closeExecution(trx, 'exe_1', cancelled, now()),
  ]
  for (const one of all) statements.push(...(await captureSql(one)))
})

test('segments and ends of executions find rows by ids, before the tables were ever analyzed, while they are empty, while they grow, and when they are full', {
  timeout: 120_000,
}, async () => {
  expect(statements).toHaveLength(9)
  const fill = (from: number, to: number) => addAutomation(db, from, to)
  for (const reads of await whileTablesGrow(db, fill, () => readsOf(statements))) {
    expect(reads.length).toBeGreaterThan(1)
    expect(reads.filter((read) => read.endsWith('as a whole'))).toEqual([])
  }
})

test('very many executions of a contact are cancelled by one pass over them', async () => {
  const count = 2_000
  const { db: listening, asked } = noteQueries(pool)
  await sql`truncate contacts, automation_events, executions, event_waits cascade`.execute(db)
  await addAutomation(db, 0, count)
  await sql`update executions set contact_id = 'con_1', trigger_event_id = null`.execute(db)
  await sql`analyze`.execute(db)
  const which = { workflowId: 'wfl_1', contactId: 'con_1' }
  const why = { code: 'cancelled', reason: 'by hand' } as const
  await cancelExecutions(listening as unknown as Trx, 'ws_0' as WorkspaceId, which, why, now())
  const query = asked.find(({ sql: text }) => text.includes('/* cancel */'))
  if (!query) throw new Error('the statement of cancelExecutions was not sent')
  const parameters = query.parameters.map((value) => (value === 'ws_0' ? 'ws_1' : value))
  const { rows } = await pool.query(`explain (analyze, format json) ${query.sql}`, parameters)
  const nodes = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)] as (PlanNode &
    Record<string, unknown>)[]
  const updated = nodes.find(
    (node) => node['Operation'] === 'Update' && node['Relation Name'] === 'executions',
  )
  expect(updated).toBeDefined()
  const passed = nodes.map((node) => Number(node['Rows Removed by Join Filter'] ?? 0))
  expect(Math.max(...passed)).toBeLessThan(count)
  const { rows: left } = await pool.query('select from executions where ended_status is null')
  expect(left).toEqual([])
})
