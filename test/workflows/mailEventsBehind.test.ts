// What decides by a contact's mail events misses none that was committed before, however many of its name stand before it in the outbox.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { insertMailEvent } from '../../db/deliveries/mailEvents.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { design, mail, onEvent, type TestDesign } from '../setup/flows.ts'
import { now } from '../setup/harness.ts'

const database = await createTestDatabase()
const { db } = database

let engine: Engine
beforeAll(async () => {
  engine = await startEngine(database)
  await engine.stopStarter()
})
afterAll(() => engine?.stop())

/** More than a commit records. */
const BEFORE = 230
/** The pump takes none until then. */
const LATER = new Date('2100-01-01')

/** Trigger → mail → pause → the node `n` with exits for its handles. */
function journey(
  n: [string, Record<string, unknown>],
  handles: string[],
  more: Record<string, [string, Record<string, unknown>]> = {},
): TestDesign {
  const exits = handles.map((handle) => [`to_${handle}`, ['exit', {}]] as const)
  return design(
    {
      start: onEvent('began'),
      first: mail('First'),
      pause: ['delay', { ms: 1 }],
      n,
      ...Object.fromEntries(exits),
      ...more,
    },
    [
      ['start', 'first'],
      ['first', 'pause'],
      ['pause', 'n'],
      ...handles.map((handle): [string, string, string] => ['n', `to_${handle}`, handle]),
    ],
  )
}

/** Clicks of the execution's mail that no pump takes: many, and behind them the one that is wanted. */
async function click(executionId: string): Promise<void> {
  const { id } = await db
    .selectFrom('deliveries as d')
    .innerJoin('emails as m', 'm.id', 'd.email_id')
    .select('d.id')
    .where('m.execution_id', '=', executionId)
    .executeTakeFirstOrThrow()
  const links = [...Array<string>(BEFORE).fill('other'), 'wanted']
  await transact({ db, wake: () => undefined }, async ({ db: trx }) => {
    for (const link of links) {
      const event = { name: 'clicked', at: now(), data: { link } } as const
      await insertMailEvent(trx, engine.workspaceId, id, event, LATER)
    }
  })
}

const wanted = { type: 'rule', field: 'event.link', operator: 'eq', value: 'wanted' }
const waitFor = (more: object): [string, Record<string, unknown>] => [
  'wait_for_event',
  { event_name: 'email.clicked', filter: wanted, ...more },
]

test('a wait is ended by a click behind 230 others', async () => {
  const { id } = await engine.run(journey(waitFor({ timeout: 'PT1H' }), ['received', 'timeout']))
  for (const segment of [0, 1]) await engine.runSegment({ executionId: id, segment })
  await click(id)
  const end = await engine.runSegment({ executionId: id, segment: 2 })
  expect(end).toMatchObject({ step: 'to_received' })
})

test('a wait that looks back finds it', async () => {
  const waits = waitFor({ timeout: 'PT1H', lookback_ms: 3_600_000 })
  const { id } = await engine.run(journey(waits, ['received', 'timeout']))
  await engine.runSegment({ executionId: id, segment: 0 })
  await click(id)
  const end = await engine.runSegment({ executionId: id, segment: 1 })
  expect(end).toMatchObject({ step: 'to_received' })
})

test('a condition counts all of them', async () => {
  const value = BEFORE + 1
  const counts = { type: 'event_count', event_name: 'email.clicked', operator: 'gte', value }
  const asks = journey(['condition', { condition: counts }], ['true', 'false'])
  const { id } = await engine.run(asks)
  await engine.runSegment({ executionId: id, segment: 0 })
  await click(id)
  const end = await engine.runSegment({ executionId: id, segment: 1 })
  expect(end).toMatchObject({ step: 'to_true' })
})

test('a goal is reached by the last', async () => {
  const reached = {
    clicked: ['goal', { event_name: 'email.clicked' }],
    won: ['exit', { outcome: 'won' }],
  } satisfies Record<string, [string, Record<string, unknown>]>
  const { nodes, edges } = journey(mail('Second'), ['default'], reached)
  const { id } = await engine.run({
    nodes,
    edges: [
      ...edges.filter(({ source }) => source !== 'n'),
      { id: 'on', source: 'n', target: 'clicked' },
      { id: 'end', source: 'clicked', target: 'won' },
    ],
  })
  await engine.runSegment({ executionId: id, segment: 0 })
  await click(id)
  await engine.runSegment({ executionId: id, segment: 1 })
  expect(await engine.subjects(id)).toEqual(['First'])
  expect(await engine.row(id)).toMatchObject({ outcome: 'won' })
})
