// What changes under an execution: a template, a property or an audience is deleted, its contact leaves while a segment runs, the worker's
// clock jumps. And very long ones.
// Long because each bad day has a design of its own.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { takeUnsubscribe } from '../../commands/unsubscribes/takeMail.ts'
import { limits } from '../../rules/limits.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent, type TestDesign } from '../setup/flows.ts'
import { newId, now } from '../setup/harness.ts'
import { openSession } from '../setup/session.ts'
import { uniqueName } from '../setup/unique.ts'

const HOUR_MS = 3_600_000
const SOON = { deadline_ms: 90_000 }
const { api, engine, flow, post, patch, stepLines, newContact } = await createApiWithEngine()

/** Starts an execution of that design, which waits at `wait`. */
async function startWaiting(made: (name: string) => TestDesign, properties = {}) {
  const name = uniqueName('event')
  const workflowId = await flow(made(name))
  const email = newContact()
  await post('known', email)
  if (Object.keys(properties).length > 0) await patch(email, properties)
  const [id = ''] = await post(name, email)
  await engine().waiting(id, 'wait')
  return { id, email, workflowId }
}

test('a template that was deleted under a wait fails the step that sends it', async () => {
  const alias = uniqueName('t')
  const content = { name: alias, alias, from: 'a@sender.test', subject: 'S', html: '<p>T</p>' }
  const made = await api.request<{ id: string }>('POST', '/v1/templates', content)
  await api.request('POST', `/v1/templates/${made.body.id}/publish`)
  const { id, email, workflowId } = await startWaiting((name) =>
    design(
      {
        start: onEvent(name),
        wait: ['wait_for_event', { event_name: 'go.on' }],
        hello: ['send_email', { template_id: alias }],
        end: ['exit', {}],
        sorry: ['exit', { outcome: 'sorry' }],
      },
      [
        ['start', 'wait'],
        ['wait', 'hello', 'received'],
        ['hello', 'end'],
        ['hello', 'sorry', 'failed'],
      ],
    ),
  )
  const path = `/v1/templates/${made.body.id}`
  expect((await api.request('DELETE', path)).status, 'of an active workflow').toBe(409)
  await api.request('PATCH', `/v1/workflows/${workflowId}`, { status: 'paused' })
  expect((await api.request('DELETE', path)).status).toBeLessThan(300)
  await post('go.on', email)
  expect(await engine().ended(id, 'COMPLETED')).toMatchObject({ outcome: 'sorry' })
  expect(await stepLines(id)).toContain(`hello failed template ${alias} is not published`)
  expect(await engine().subjects(id)).toEqual([])
})

describe('a date that is deleted under the wait for it', () => {
  const waitsFor = (name: string, ...more: [string, string, string?][]): TestDesign =>
    design(
      {
        start: onEvent(name),
        wait: ['wait_until', { property_path: 'trial.ends', timezone: 'UTC' }],
        end: ['exit', {}],
        gone: ['exit', { outcome: 'gone' }],
      },
      [['start', 'wait'], ['wait', 'end'], ...more],
    )
  const withoutGone = (made: TestDesign): TestDesign => ({
    ...made,
    nodes: made.nodes.filter(({ id }) => id !== 'gone'),
  })
  const trial = { trial: { ends: Date.now() + HOUR_MS } }

  test('leaves by `past`', async () => {
    const { id, email } = await startWaiting(
      (name) => waitsFor(name, ['wait', 'gone', 'past']),
      trial,
    )
    await patch(email, { trial: { ends: null } })
    expect(await engine().ended(id, 'COMPLETED')).toMatchObject({ outcome: 'gone' })
    expect(await stepLines(id)).toContain('wait past no_date')
  })

  test('fails the step where nothing leaves by `past`', async () => {
    const { id, email } = await startWaiting((name) => withoutGone(waitsFor(name)), trial)
    await patch(email, { trial: null })
    expect(await engine().ended(id, 'FAILED')).toMatchObject({ error: 'wait: no_date' })
  })
})

test('an audience that is deleted under the wait for it has no members: the wait ends by its time', async () => {
  const made = await api.request<{ id: string }>('POST', '/v1/audiences', { name: uniqueName('a') })
  const condition = { type: 'audience', audience_id: made.body.id, member: true }
  const { id } = await startWaiting((name) =>
    design(
      {
        start: onEvent(name),
        wait: ['wait_for_condition', { condition, timeout: 'PT3S' }],
        met: ['exit', { outcome: 'met' }],
        late: ['exit', { outcome: 'late' }],
      },
      [
        ['start', 'wait'],
        ['wait', 'met', 'met'],
        ['wait', 'late', 'timeout'],
      ],
    ),
  )
  await api.request('DELETE', `/v1/audiences/${made.body.id}`)
  expect(await engine().ended(id, 'COMPLETED')).toMatchObject({ outcome: 'late' })
})

test('who leaves while a segment runs gets no mail of it, and none after it', async () => {
  const { db } = api
  const first = await startWaiting((name) =>
    design(
      {
        start: onEvent(name),
        hello: mail('Hello'),
        wait: ['wait_for_event', { event_name: `${name}.go` }],
        news: mail('News'),
        pause: ['delay', { ms: 1 }],
        more: mail('More'),
        end: ['exit', {}],
      },
      [
        ['start', 'hello'],
        ['hello', 'wait'],
        ['wait', 'news', 'received'],
        ['news', 'pause'],
        ['pause', 'more'],
        ['more', 'end'],
      ],
    ),
  )
  const { id, email } = first
  const waits = db.selectFrom('event_waits').select('event_name').where('execution_id', '=', id)
  const { event_name } = await waits.executeTakeFirstOrThrow()
  const sent = db.selectFrom('emails').select('unsubscribe_token').where('execution_id', '=', id)
  const { unsubscribe_token } = await sent.executeTakeFirstOrThrow()
  const addressMac = await addressMacOf(db)
  const deps = { db, now, newId, addressMac, wake: () => undefined }

  await engine().stopStarter()
  await post(event_name ?? '', email)
  const session = await openSession(api.url)
  // The segment has written its mail, and cannot end.
  await session.run('begin')
  await session.run('lock table execution_segments in share mode')
  const running = engine().runSegment({ executionId: id, segment: 1 })
  await eventually(async () => expect(await session.waiting()).toBe(1), SOON)
  const leaving = takeUnsubscribe(deps, unsubscribe_token ?? '')
  await eventually(async () => expect(await session.waiting()).toBe(2), SOON)
  await session.run('commit')
  await session.end()
  await running
  expect(await leaving).toBe(true)
  engine().startStarter()

  await engine().ended(id, 'CANCELLED')
  expect(await engine().subjects(id)).toEqual(['Hello', 'News'])
  const states = await db
    .selectFrom('deliveries')
    .select('state')
    .where('recipient', '=', email)
    .execute()
  expect(states).toEqual([{ state: 'cancelled' }, { state: 'cancelled' }])
})

/** Counts as often as there are nodes: a design of `limits.designNodesMax`, which goes round `laps` times. */
function longDesign(name: string, laps: number): TestDesign {
  const counts = limits.designNodesMax - 5
  const count = (i: number) => `count${i}`
  const nodes: [string, [string, Record<string, unknown>]][] = [
    ['start', onEvent(name)],
    ...Array.from({ length: counts }, (_, i): [string, [string, Record<string, unknown>]] => [
      count(i),
      ['update_contact', { increment: { n: 1 } }],
    ]),
    ['lap', ['update_contact', { increment: { laps: 1 } }]],
    ['pause', ['delay', { ms: 1 }]],
    [
      'again',
      [
        'condition',
        { condition: { type: 'rule', field: 'properties.laps', operator: 'lt', value: laps } },
      ],
    ],
    ['end', ['exit', {}]],
  ]
  return design(Object.fromEntries(nodes), [
    ['start', count(0)],
    ...Array.from({ length: counts - 1 }, (_, i): [string, string] => [count(i), count(i + 1)]),
    [count(counts - 1), 'lap'],
    ['lap', 'pause'],
    ['pause', 'again'],
    ['again', count(0), 'true'],
    ['again', 'end', 'false'],
  ])
}

test('a design of 300 nodes, and an execution of over 10,000 steps: each node as often as it was entered', async () => {
  const LAPS = 34
  const name = uniqueName('long')
  const made = longDesign(name, LAPS)
  expect(made.nodes).toHaveLength(300)
  await flow(made)
  const email = newContact()
  const [id = ''] = await post(name, email)
  await eventually(() => engine().ended(id, 'COMPLETED'), { deadline_ms: 150_000 })
  const perLap = made.nodes.length - 2
  const row = await engine().row(id)
  expect(row).toMatchObject({ step_count: LAPS * perLap + 2, current_step_id: 'end' })
  expect(row.step_count).toBeGreaterThan(10_000)
  expect(await engine().steps(id)).toHaveLength(row.step_count)
  const contacts = api.db.selectFrom('contacts').select('properties').where('email', '=', email)
  const { properties } = await contacts.executeTakeFirstOrThrow()
  expect(properties).toEqual({ n: LAPS * (limits.designNodesMax - 5), laps: LAPS })
})

describe('a worker whose clock jumps', () => {
  let ahead_ms = 0
  let jumping: Engine
  const clock = () => new Date(Date.now() + ahead_ms)
  beforeAll(async () => {
    jumping = await startEngine(await createTestDatabase(), { now: clock })
  })
  afterAll(() => jumping?.stop())

  const capped: TestDesign = {
    ...design(
      {
        start: onEvent('x'),
        one: mail('One'),
        pause: ['delay', { ms: 800 }],
        two: mail('Two'),
        count: ['update_contact', { increment: { n: 1 } }],
        wait: ['wait_for_event', { event_name: 'went.on', timeout: 'P1D' }],
        three: mail('Three'),
      },
      [
        ['start', 'one'],
        ['one', 'pause'],
        ['pause', 'two'],
        ['two', 'count'],
        ['count', 'wait'],
        ['wait', 'three', 'received'],
      ],
    ),
    settings: { max_duration_ms: 30 * 24 * HOUR_MS },
  }

  test.each([
    ['ahead', HOUR_MS],
    ['back', -HOUR_MS],
  ])(
    'an hour %s, and right again: each effect once, and no wait is asked for twice',
    async (_, by_ms) => {
      ahead_ms = 0
      const { id, email } = await jumping.run(capped)
      await jumping.waiting(id, 'pause')
      ahead_ms = by_ms
      await jumping.waiting(id, 'wait')
      ahead_ms = 0
      await jumping.post('went.on', email)
      await jumping.ended(id, 'COMPLETED')
      expect(await jumping.steps(id)).toEqual([
        'start=default',
        'one=default',
        'pause=default',
        'two=default',
        'count=default',
        'wait=received',
        'three=default',
      ])
      expect(await jumping.subjects(id)).toEqual(['One', 'Two', 'Three'])
      const segments = await jumping.db
        .selectFrom('execution_segments')
        .select('segment')
        .where('execution_id', '=', id)
        .execute()
      expect(segments).toHaveLength(3)
    },
  )
})
