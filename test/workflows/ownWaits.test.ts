// What a segment does to the wait that it has left: nothing, whatever its own nodes record. Its clock and its depth are those of
// what has woken it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'

const HOUR_MS = 3_600_000
const database = await createTestDatabase()
const { db } = database
let engine: Engine
/** How far the worker's clock is ahead, ms. */
let ahead_ms = 0

beforeAll(async () => {
  engine = await startEngine(database, { now: () => new Date(Date.now() + ahead_ms) })
  await engine.stopStarter()
})
afterAll(() => engine?.stop())

const run = (executionId: string, segment: number) => engine.runSegment({ executionId, segment })

/** Runs the segment after a wait of so long. */
async function runLater(executionId: string, segment: number, later_ms: number) {
  ahead_ms = later_ms
  try {
    return await run(executionId, segment)
  } finally {
    ahead_ms = 0
  }
}

const waitsOf = (id: string) =>
  db
    .selectFrom('event_waits')
    .select(['segment', 'node_id', 'consumed_by', 'ended_by'])
    .where('execution_id', '=', id)
    .orderBy('segment')
    .execute()

const signalsOf = (id: string) =>
  db
    .selectFrom('outbox')
    .select('id')
    .where('execution_id', '=', id)
    .where('kind', '=', 'signal')
    .execute()

test.each([
  ['an event that it records', ['send_event', { event_name: 'paid.late', properties: {} }]],
  ['a property that it changes', ['update_contact', { set: { late: true } }]],
  ['a mail that it sends', mail('Late')],
] as const)('a wait that its time has ended is not ended again by %s', async (_, node) => {
  const condition = { type: 'rule', field: 'properties.late', operator: 'is_true' }
  const isOfMail = node[0] === 'send_email'
  const wait: [string, Record<string, unknown>] =
    node[0] === 'update_contact'
      ? ['wait_for_condition', { condition, timeout: 'PT1H' }]
      : ['wait_for_event', { event_name: isOfMail ? 'email.sent' : 'paid.late', timeout: 'PT1H' }]
  const [type, data] = node
  const { id } = await engine.run(
    design(
      {
        start: onEvent('x'),
        wait,
        late: [type, { ...data }],
        rest: ['delay', { duration: 'P1D' }],
      },
      [
        ['start', 'wait'],
        ['wait', 'rest', node[0] === 'update_contact' ? 'met' : 'received'],
        ['wait', 'late', 'timeout'],
        ['late', 'rest'],
      ],
    ),
  )
  await run(id, 0)
  await runLater(id, 1, HOUR_MS + 1)
  expect(await engine.steps(id)).toEqual([
    'start=default',
    'wait=timeout',
    'late=default',
    'rest=null',
  ])
  expect(await waitsOf(id)).toEqual([
    { segment: 1, node_id: 'rest', consumed_by: null, ended_by: null },
  ])
  expect(await signalsOf(id)).toEqual([])
})

test('a timer that fires ahead of the clock of its worker is not asked for again', async () => {
  const graph = design({ start: onEvent('x'), rest: ['delay', { duration: 'P1D' }] }, [
    ['start', 'rest'],
  ])
  const { id } = await engine.run({ ...graph, settings: { max_duration_ms: HOUR_MS } })
  await run(id, 0)
  const result = await runLater(id, 1, HOUR_MS - 60_000)
  expect(result.next).toMatchObject({ kind: 'end', status: 'COMPLETED' })
  expect(await engine.row(id)).toMatchObject({ outcome: 'max_duration' })
})

test('the last segment that time has woken begins a new chain', async () => {
  const { id } = await engine.run(
    design({ start: onEvent('x'), rest: ['delay', { duration: 'PT1H' }], late: mail('Late') }, [
      ['start', 'rest'],
      ['rest', 'late'],
    ]),
  )
  await db.updateTable('executions').set({ chain_depth: 9 }).where('id', '=', id).execute()
  await run(id, 0)
  expect(await engine.row(id)).toMatchObject({ chain_depth: 9 })
  await runLater(id, 1, HOUR_MS + 1)
  expect(await engine.row(id)).toMatchObject({ ended_status: 'COMPLETED', chain_depth: 0 })
})
