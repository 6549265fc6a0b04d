// Waits: a timeout, an event, both at once, an event from before, and a month.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine, testBundle } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent, type TestDesign } from '../setup/flows.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const database = await createTestDatabase()
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database)
})
afterAll(() => engine?.stop())

/** Waits for `paid`, then sends one mail or the other. */
const waitsForPayment = (wait: Record<string, unknown>): TestDesign =>
  design(
    {
      start: onEvent('ordered'),
      wait: ['wait_for_event', { event_name: 'paid', ...wait }],
      thanks: mail('Paid {{ wait_events.wait.amount }}'),
      reminder: mail('Please pay'),
    },
    [
      ['start', 'wait'],
      ['wait', 'thanks', 'received'],
      ['wait', 'reminder', 'timeout'],
    ],
  )

const waitRow = (id: string) =>
  database.db
    .selectFrom('event_waits')
    .selectAll()
    .where('execution_id', '=', id)
    .executeTakeFirst()

test('a wait without its event takes the timeout handle, and a later event changes nothing', async () => {
  const { id, email } = await engine.run(waitsForPayment({ timeout: 'PT1S' }))
  await engine.ended(id, 'COMPLETED')
  expect(await engine.steps(id)).toEqual(['start=default', 'wait=timeout', 'reminder=default'])
  expect(await waitRow(id)).toBeUndefined()
  await engine.post('paid', email, { amount: 5 })
  expect(await engine.subjects(id)).toEqual(['Please pay'])
  expect(await database.db.selectFrom('outbox').selectAll().execute()).toEqual([])
})

test('the call stack of the Web UI says where an execution waits that runs from the sources', async () => {
  const { id } = await engine.run(waitsForPayment({}))
  await engine.waiting(id, 'wait')
  const stack = await engine.client.workflow.getHandle(id).query('__stack_trace')
  expect(stack).toContain('at waitFor (')
})

test('an event that was recorded before the timer fires wins, even if its signal is lost', async () => {
  const { id, email } = await engine.run(waitsForPayment({ timeout: 'PT2S' }))
  await engine.waiting(id, 'wait')
  await engine.stopStarter()
  try {
    await engine.post('paid', email, { amount: 7 })
    expect(await waitRow(id)).toMatchObject({ consumed_by: expect.stringMatching(/^evt_/) })
    await engine.ended(id, 'COMPLETED')
    expect(await engine.steps(id)).toEqual(['start=default', 'wait=received', 'thanks=default'])
    const { events } = await engine.client.workflow.getHandle(id).fetchHistory()
    const timers = events?.filter((event) => event.timerFiredEventAttributes)
    const signals = events?.filter((event) => event.workflowExecutionSignaledEventAttributes)
    expect({ timers: timers?.length, signals: signals?.length }).toEqual({ timers: 1, signals: 0 })
  } finally {
    engine.startStarter()
  }
  // The signal arrives after the execution has ended: it is dropped.
  await eventually(async () =>
    expect(await database.db.selectFrom('outbox').select('kind').execute()).toEqual([]),
  )
  expect(await engine.subjects(id)).toEqual(['Paid 7'])
})

test('of ten events at once one ends the wait, and each is recorded', async () => {
  const { id, email } = await engine.run(waitsForPayment({}))
  const waiting = await engine.waiting(id, 'wait')
  expect(waiting).toMatchObject({ waitUntil: null, memo: { step: 'wait', timer: '' } })
  await Promise.all(Array.from({ length: 10 }, () => engine.post('paid', email, { amount: 9 })))
  await engine.ended(id, 'COMPLETED')
  expect(await engine.steps(id)).toEqual(['start=default', 'wait=received', 'thanks=default'])
  expect(await engine.subjects(id)).toEqual(['Paid 9'])
  const events = database.db.selectFrom('automation_events').select('id').where('email', '=', email)
  const paid = await events.where('event_name', '=', 'paid').execute()
  expect(paid).toHaveLength(10)
})

test('an event within the look-back ends a wait that begins after it', async () => {
  await engine.post('paid', 'early@example.test', { amount: 3 })
  const { id } = await engine.run(waitsForPayment({ lookback_ms: 60_000 }), 'early@example.test')
  await engine.ended(id, 'COMPLETED')
  expect(await engine.subjects(id)).toEqual(['Paid 3'])
})

const lookingBack = { event_name: 'paid', lookback_ms: 60_000, timeout: 'PT1S' }

const hasPaid = { type: 'event_count', event_name: 'paid', operator: 'gte', value: 1 }

test.each<[string, [string, Record<string, unknown>], 'received' | 'met', 'before' | 'after']>([
  ['in the segment before', ['wait_for_event', { event_name: 'paid' }], 'received', 'after'],
  [
    'in the same segment',
    ['wait_for_event', { event_name: 'paid', lookback_ms: 60_000 }],
    'received',
    'before',
  ],
  [
    'by a condition that it made true',
    ['wait_for_condition', { condition: hasPaid }],
    'met',
    'after',
  ],
])(
  'an event that has ended a wait ends no other by its look-back: %s',
  async (_name, first, handle, posted) => {
    const twice = design(
      {
        start: onEvent('ordered'),
        first,
        second: ['wait_for_event', lookingBack],
        again: ['exit', { outcome: 'again' }],
        late: ['exit', { outcome: 'late' }],
      },
      [
        ['start', 'first'],
        ['first', 'second', handle],
        ['second', 'again', 'received'],
        ['second', 'late', 'timeout'],
      ],
    )
    const contact = `${posted}-${handle}@example.test`
    if (posted === 'before') await engine.post('paid', contact)
    const { id } = await engine.run(twice, contact)
    if (posted === 'after') {
      await engine.waiting(id, 'first')
      await engine.post('paid', contact)
    }
    await engine.ended(id, 'COMPLETED')
    expect(await engine.steps(id)).toEqual([
      'start=default',
      `first=${handle}`,
      'second=timeout',
      'late=null',
    ])
  },
)

test('of two events before two waits each ends one', async () => {
  const both = design(
    {
      start: onEvent('ordered'),
      first: ['wait_for_event', lookingBack],
      second: ['wait_for_event', lookingBack],
      thanks: mail('{{ wait_events.first.n }} {{ wait_events.second.n }}'),
      late: ['exit', {}],
    },
    [
      ['start', 'first'],
      ['first', 'second', 'received'],
      ['first', 'late', 'timeout'],
      ['second', 'thanks', 'received'],
      ['second', 'late', 'timeout'],
    ],
  )
  const contact = 'two-before@example.test'
  await engine.post('paid', contact, { n: 1 })
  await engine.post('paid', contact, { n: 2 })
  const { id } = await engine.run(both, contact)
  await engine.ended(id, 'COMPLETED')
  const [subject = ''] = await engine.subjects(id)
  expect(subject.split(' ').sort()).toEqual(['1', '2'])
})

const monthly = design(
  {
    start: onEvent('subscribed'),
    welcome: mail('Welcome'),
    month: ['delay', { duration: 'P30D' }],
    news: mail('News'),
  },
  [
    ['start', 'welcome'],
    ['welcome', 'month'],
    ['month', 'news'],
  ],
)

test('a delay of thirty days is a durable timer: WAITING until then, to the millisecond', async () => {
  const { id } = await engine.run(monthly)
  const shown = await engine.waiting(id, 'month')
  const began = await database.db
    .selectFrom('execution_steps')
    .select('at')
    .where('execution_id', '=', id)
    .where('node_id', '=', 'month')
    .executeTakeFirstOrThrow()
  expect(shown).toMatchObject({
    waitUntil: began.at.getTime() + 30 * DAY_MS,
    memo: { step: 'month', step_count: 3, timer: 'month/0' },
  })
  const { raw } = await engine.client.workflow.getHandle(id).describe()
  expect(raw.pendingActivities).toHaveLength(0)
  expect((await engine.row(id)).ended_status).toBeNull()
  expect(await engine.subjects(id)).toEqual(['Welcome'])
})

test('after the thirty days the next email is written', async () => {
  const workflowBundle = await testBundle('shortTimers')
  // Its outbox is handed only to the other namespace.
  await engine.stopStarter()
  const quick = await startEngine(database, { workflowBundle })
  try {
    const { id } = await quick.run(monthly)
    await quick.ended(id, 'COMPLETED')
    expect(await quick.steps(id)).toEqual([
      'start=default',
      'welcome=default',
      'month=default',
      'news=default',
    ])
    expect(await quick.subjects(id)).toEqual(['Welcome', 'News'])
  } finally {
    await quick.stop()
    engine.startStarter()
  }
})
