// The stored results of segments: their form must not change, because running executions read those of earlier
// releases.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { insertMailEvent } from '../../db/deliveries/mailEvents.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { design, mail, onEvent, type TestDesign } from '../setup/flows.ts'
import { newId, now } from '../setup/harness.ts'
import { tellAll } from '../setup/mailEvents.ts'

const database = await createTestDatabase()
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database)
  await engine.stopStarter()
})
afterAll(() => engine?.stop())

/** A design: trigger → node `n`, with these handles connected to exits of the same names. */
function around(node: [string, Record<string, unknown>], ...handles: string[]): TestDesign {
  const exits = handles.map((handle) => [`to_${handle}`, ['exit', { outcome: handle }]] as const)
  return design({ start: onEvent('began'), n: node, ...Object.fromEntries(exits) }, [
    ['start', 'n'],
    ...handles.map((handle): [string, string, string] => ['n', `to_${handle}`, handle]),
  ])
}

/** Runs a segment without Temporal. Its answer equals the stored result. */
async function runSegment(executionId: string, segment = 0) {
  const answer = await engine.runSegment({ executionId, segment })
  const stored = await database.db
    .selectFrom('execution_segments')
    .select('result')
    .where('execution_id', '=', executionId)
    .where('segment', '=', segment)
    .executeTakeFirstOrThrow()
  expect(stored.result).toEqual(answer)
  return answer
}

const wait = (more: object = {}): [string, Record<string, unknown>] => [
  'wait_for_event',
  { event_name: 'went.on', ...more },
]

describe('the stored form', () => {
  test('a delay', async () => {
    const { id } = await engine.run(around(['delay', { duration: 'P1D' }], 'default'))
    const began = Date.now()
    const { next, ...rest } = await runSegment(id)
    expect(rest).toEqual({ step: 'n', step_count: 2 })
    expect(next).toEqual({ kind: 'sleep', nodeId: 'n', until: expect.any(Number) })
    const wait_ms = (next.kind === 'sleep' ? next.until : 0) - began
    expect(wait_ms).toBeGreaterThanOrEqual(86_400_000)
  })
  test('a wait without a deadline, and one with a deadline', async () => {
    const endless = await engine.run(around(wait(), 'received'))
    expect(await runSegment(endless.id)).toEqual({
      next: { kind: 'wait_event', nodeId: 'n', until: null },
      step: 'n',
      step_count: 2,
    })
    const bounded = await engine.run(around(wait({ timeout: 'PT1H' }), 'received', 'timeout'))
    expect((await runSegment(bounded.id)).next).toEqual({
      kind: 'wait_event',
      nodeId: 'n',
      until: expect.any(Number),
    })
  })
  test('an end', async () => {
    const done = await engine.run(around(['update_contact', { set: { a: 1 } }], 'default'))
    const next = { kind: 'end', status: 'COMPLETED', error: null }
    expect(await runSegment(done.id)).toEqual({ next, step: 'to_default', step_count: 3 })
    const broken = await engine.run(around(mail('x', { from: 'a@stranger.test' }), 'default'))
    expect((await runSegment(broken.id)).next).toMatchObject({ kind: 'end', status: 'FAILED' })
  })
})

describe('the handle after a wait', () => {
  test('is that of the event, or that of the timeout', async () => {
    const handles = ['received', 'timeout']
    const first = await engine.run(around(wait({ timeout: 'PT1H' }), ...handles))
    await runSegment(first.id)
    await engine.post('went.on', first.email)
    expect(await runSegment(first.id, 1)).toMatchObject({ step: 'to_received' })
    expect(await engine.steps(first.id)).toEqual([
      'start=default',
      'n=received',
      'to_received=null',
    ])
    const second = await engine.run(around(wait({ timeout: 'PT1H' }), ...handles))
    await runSegment(second.id)
    expect(await runSegment(second.id, 1)).toMatchObject({ step: 'to_timeout' })
    expect(await engine.steps(second.id)).toEqual(['start=default', 'n=timeout', 'to_timeout=null'])
  })
  test('an event within the look-back ends the wait in the same segment', async () => {
    const early = design(
      {
        start: onEvent('began'),
        pause: ['delay', { ms: 1 }],
        n: wait({ lookback_ms: 60_000 }),
        again: ['delay', { duration: 'P1D' }],
        end: ['exit', {}],
      },
      [
        ['start', 'pause'],
        ['pause', 'n'],
        ['n', 'again', 'received'],
        ['again', 'end'],
      ],
    )
    const { id, email } = await engine.run(early)
    await runSegment(id)
    await engine.post('went.on', email)
    expect((await runSegment(id, 1)).next).toMatchObject({ kind: 'sleep', nodeId: 'again' })
    expect((await runSegment(id, 2)).step).toBe('end')
    const expected = ['start', 'pause', 'n', 'again', 'end']
    expect((await engine.steps(id)).map((step) => step.split('=')[0])).toEqual(expected)
    expect(await engine.steps(id)).toContain('n=received')
  })
  test('facts from before such a wait are known after it: the sent email, the event of another wait', async () => {
    const knows = {
      type: 'and',
      rules: [
        { type: 'rule', field: 'wait_events.one.number', operator: 'eq', value: 1 },
        { type: 'email_activity', node_id: 'first', status: 'sent' },
      ],
    }
    const both = design(
      {
        start: onEvent('began'),
        pause: ['delay', { ms: 1 }],
        one: ['wait_for_event', { event_name: 'came.first', lookback_ms: 60_000 }],
        first: mail('First'),
        two: ['wait_for_event', { event_name: 'came.second', lookback_ms: 60_000 }],
        ask: ['condition', { condition: knows }],
        known: ['exit', { outcome: 'known' }],
        forgotten: ['exit', { outcome: 'forgotten' }],
      },
      [
        ['start', 'pause'],
        ['pause', 'one'],
        ['one', 'first', 'received'],
        ['first', 'two'],
        ['two', 'ask', 'received'],
        ['ask', 'known', 'true'],
        ['ask', 'forgotten', 'false'],
      ],
    )
    const { id, email } = await engine.run(both)
    await runSegment(id)
    await engine.post('came.first', email, { number: 1 })
    await engine.post('came.second', email)
    await runSegment(id, 1)
    expect(await engine.row(id)).toMatchObject({ outcome: 'known' })
  })
})

describe('a wait for a mail event', () => {
  const clicked = (more: object = {}) => wait({ event_name: 'email.clicked', ...more })
  const journey = (waits: [string, Record<string, unknown>]): TestDesign =>
    design(
      {
        start: onEvent('began'),
        first: mail('First'),
        pause: ['delay', { ms: 1 }],
        n: waits,
        to_received: ['exit', {}],
        to_timeout: ['exit', {}],
      },
      [
        ['start', 'first'],
        ['first', 'pause'],
        ['pause', 'n'],
        ['n', 'to_received', 'received'],
        ['n', 'to_timeout', 'timeout'],
      ],
    )
  /** A committed click whose mail event is still in the outbox. */
  async function click(executionId: string) {
    const { id } = await database.db
      .selectFrom('deliveries as d')
      .innerJoin('emails as m', 'm.id', 'd.email_id')
      .select('d.id')
      .where('m.execution_id', '=', executionId)
      .executeTakeFirstOrThrow()
    const deps = { db: database.db, wake: () => undefined }
    const event = { name: 'clicked', at: now(), data: { link: 'x' } } as const
    await transact(deps, ({ db }) => insertMailEvent(db, engine.workspaceId, id, event, now()))
  }

  test('a click before the deadline ends the wait, even if its mail event is still in the outbox', async () => {
    const { id } = await engine.run(journey(clicked({ timeout: 'PT1H' })))
    await runSegment(id)
    await runSegment(id, 1)
    await click(id)
    expect(await runSegment(id, 2)).toMatchObject({ step: 'to_received' })
  })
  test('a click from before the wait ends it only with a look-back', async () => {
    const plain = await engine.run(journey(clicked({ timeout: 'PT1H' })))
    await runSegment(plain.id)
    await click(plain.id)
    expect((await runSegment(plain.id, 1)).next).toMatchObject({ kind: 'wait_event' })
    const addressMac = await addressMacOf(database.db)
    await tellAll({ db: database.db, now, newId, addressMac, wake: () => undefined })
    expect(await runSegment(plain.id, 2)).toMatchObject({ step: 'to_timeout' })

    const looking = await engine.run(journey(clicked({ lookback_ms: 60_000 })))
    await runSegment(looking.id)
    await click(looking.id)
    expect(await runSegment(looking.id, 1)).toMatchObject({ step: 'to_received' })
  })
})

describe('a suppressed address', () => {
  test.each([
    [undefined, 'skipped'],
    ['skip', 'skipped'],
    ['exit', 'suppressed'],
    ['fail', 'failed'],
  ])('on_suppressed %s leads to %s', async (on_suppressed, outcome) => {
    const handles = ['default', 'skipped', 'failed']
    const sends = mail('Hello', on_suppressed ? { on_suppressed } : {})
    const { id, email } = await engine.run(around(sends, ...handles))
    await database.db
      .insertInto('suppressions')
      .values({
        workspace_id: engine.workspaceId,
        email,
        reason: 'manual',
        source_id: null,
        created_at: now(),
        expires_at: null,
      })
      .execute()
    await runSegment(id)
    expect(await engine.row(id)).toMatchObject({ ended_status: 'COMPLETED', outcome })
    expect(await engine.subjects(id)).toEqual([])
  })
})
