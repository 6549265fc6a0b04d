// Segments of contacts in workflows on Temporal: triggers, conditions, waits that they wake, goals and exits; by change and by time.
// Long because each place where a segment may be named has a design of its own.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSegment } from '../../commands/segments/create.ts'
import { updateSegment } from '../../commands/segments/update.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { createLog } from '../../runtime/log.ts'
import { startSegments } from '../../worker/segments.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, patch, stepLines, newContact } = await createApiWithEngine()
const deps = { ...api.deps, log: createLog('worker', 'silent') }
const running: { segments?: ReturnType<typeof startSegments> } = {}
beforeAll(() => {
  running.segments = startSegments(deps)
})
afterAll(() => running.segments?.stop())

const rule = (field: string, operator: string, value?: unknown) => ({
  type: 'rule',
  field,
  operator,
  ...(value === undefined ? {} : { value }),
})
const isPro = rule('properties.plan', 'eq', 'pro')
const inside = (segment_id: string, member = true) => ({ type: 'segment', segment_id, member })

async function segment(condition: object): Promise<string> {
  const made = await createSegment(deps, api.workspaceId, { name: 'S', condition })
  if (isRefusal(made)) throw new Error(made.code)
  return made
}

/** Waits until all kept segments have their members. */
const filled = () =>
  eventually(async () => {
    const open = api.db.selectFrom('segments').select('id').where('kept', '=', true)
    expect(await open.where('filled', '=', false).execute()).toEqual([])
  })

/** The executions of a workflow for a contact, in their order. */
const idsOf = async (workflowId: string, email: string) => {
  const rows = await api.db
    .selectFrom('executions')
    .select('id')
    .where('workflow_id', '=', workflowId)
    .where('email', '=', email)
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

const bring = async (email: string, contact_properties: object) => {
  const body = { event_name: 'seen', email, contact_properties }
  await api.request('POST', '/v1/automation/events', body)
  engine().wake()
}

/** A workflow that begins at a segment, and asks by `event.segment_id` whether it is this one. */
const startsAt = (kind: string, segment_id: string, more: object = {}) =>
  flow(
    design(
      {
        start: ['trigger', { kind, segment_id, ...more }],
        asks: ['condition', { condition: rule('event.segment_id', 'eq', segment_id) }],
        yes: ['exit', { outcome: 'this one' }],
        no: ['exit', { outcome: 'another' }],
      },
      [
        ['start', 'asks'],
        ['asks', 'yes', 'true'],
        ['asks', 'no', 'false'],
      ],
    ),
  )

describe('triggers', () => {
  test('segment_entered and segment_left start by a change, with the segment as event', async () => {
    const id = await segment(isPro)
    const entered = await startsAt('segment_entered', id)
    const left = await startsAt('segment_left', id)
    const filter = rule('properties.vip', 'is_true')
    const filtered = await startsAt('segment_entered', id, { filter })
    await filled()
    const email = newContact()
    await bring(email, { plan: 'pro' })
    const [first = ''] = await idsOf(entered, email)
    expect((await engine().ended(first, 'COMPLETED')).outcome).toBe('this one')
    expect([await idsOf(left, email), await idsOf(filtered, email)]).toEqual([[], []])
    await patch(email, { plan: 'free', vip: true })
    const [second = ''] = await idsOf(left, email)
    expect((await engine().ended(second, 'COMPLETED')).outcome).toBe('this one')
    await patch(email, { plan: 'pro' })
    expect([await idsOf(entered, email), await idsOf(filtered, email)]).toMatchObject([
      { length: 2 },
      { length: 1 },
    ])
  })

  test('start when a node changes the contact, one deeper than its execution', async () => {
    const id = await segment(rule('properties.stage', 'eq', 'won'))
    const entered = await startsAt('segment_entered', id)
    await filled()
    const eventName = uniqueName('event')
    await flow(
      design(
        {
          start: onEvent(eventName),
          set: ['update_contact', { set: { stage: 'won' } }],
          end: ['exit', {}],
        },
        [
          ['start', 'set'],
          ['set', 'end'],
        ],
      ),
    )
    const email = newContact()
    const [cause = ''] = await post(eventName, email)
    await engine().ended(cause, 'COMPLETED')
    const [started = ''] = await idsOf(entered, email)
    await engine().ended(started, 'COMPLETED')
    const rows = await api.db
      .selectFrom('executions')
      .select(['id', 'chain_depth'])
      .where('id', 'in', [cause, started])
      .orderBy('chain_depth')
      .execute()
    // The change is one deeper than its execution, and what it starts one deeper than the change.
    expect(rows).toEqual([
      { id: cause, chain_depth: 0 },
      { id: started, chain_depth: 2 },
    ])
  })

  test('two workflows that move a contact in and out end by depth', async () => {
    const id = await segment(rule('properties.ball', 'eq', 'here'))
    const moves = (kind: string, ball: string) =>
      flow(
        design(
          {
            start: ['trigger', { kind, segment_id: id }],
            set: ['update_contact', { set: { ball } }],
            end: ['exit', {}],
          },
          [
            ['start', 'set'],
            ['set', 'end'],
          ],
        ),
      )
    const there = await moves('segment_entered', 'there')
    const here = await moves('segment_left', 'here')
    await filled()
    const email = newContact()
    await bring(email, { ball: 'here' })
    const all = async () => [...(await idsOf(there, email)), ...(await idsOf(here, email))]
    await eventually(async () => {
      engine().wake()
      expect(await all()).toHaveLength(5)
    })
    for (const one of await all()) await engine().ended(one, 'COMPLETED')
    expect(await all()).toHaveLength(5)
  })

  test('segment_left starts by time alone', async () => {
    const span_ms = 2_500
    const id = await segment(rule('properties.seen_at', 'within_last', span_ms))
    const left = await startsAt('segment_left', id)
    await filled()
    const email = newContact()
    await bring(email, { seen_at: Date.now() })
    expect(await idsOf(left, email)).toEqual([])
    const [started = ''] = await eventually(async () => {
      const ids = await idsOf(left, email)
      expect(ids).toHaveLength(1)
      return ids
    })
    engine().wake()
    expect((await engine().ended(started, 'COMPLETED')).outcome).toBe('this one')
  })
})

test('a condition, a branch and a guard ask what the segment says now, though nobody keeps its members', async () => {
  const pros = await segment(isPro)
  const others = await segment(inside(pros, false))
  const eventName = uniqueName('event')
  await flow(
    design(
      {
        start: onEvent(eventName),
        asks: ['condition', { condition: inside(pros) }],
        guarded: mail('Hello', { guard: inside(others) }),
        goes: ['branch', { branches: [{ id: 'other', condition: inside(others) }] }],
        pro: ['exit', { outcome: 'pro' }],
        other: ['exit', { outcome: 'other' }],
        else: ['exit', { outcome: 'else' }],
      },
      [
        ['start', 'asks'],
        ['asks', 'guarded', 'true'],
        ['asks', 'goes', 'false'],
        ['guarded', 'else'],
        ['guarded', 'pro', 'skipped'],
        ['goes', 'other', 'other'],
        ['goes', 'else', 'else'],
      ],
    ),
  )
  const outcomeOf = async (plan: string) => {
    const email = newContact()
    await bring(email, { plan })
    const [id = ''] = await post(eventName, email)
    return (await engine().ended(id, 'COMPLETED')).outcome
  }
  expect(await outcomeOf('pro')).toBe('pro')
  expect(await outcomeOf('free')).toBe('other')
})

/** An execution that waits until the contact is in a segment; `settings` may end it first. */
async function waitFor(segmentId: string, properties: object = {}, settings?: object) {
  const eventName = uniqueName('event')
  const waiting = design(
    {
      start: onEvent(eventName),
      wait: ['wait_for_condition', { condition: inside(segmentId), timeout: 'P30D' }],
      met: ['exit', { outcome: 'met' }],
      late: ['exit', { outcome: 'late' }],
    },
    [
      ['start', 'wait'],
      ['wait', 'met', 'met'],
      ['wait', 'late', 'timeout'],
    ],
  )
  await flow({ ...waiting, ...(settings ? { settings } : {}) })
  const email = newContact()
  if (Object.keys(properties).length > 0) await bring(email, properties)
  const [id = ''] = await post(eventName, email)
  await engine().waiting(id, 'wait')
  return { id, email }
}

describe('wait_for_condition', () => {
  test('is met by a change that a segment within the segment reads', async () => {
    const counted = await segment({
      type: 'event_count',
      event_name: 'came.in',
      operator: 'gte',
      value: 2,
    })
    const both = await segment({ type: 'and', rules: [inside(counted), isPro] })
    const { id, email } = await waitFor(both, { plan: 'pro' })
    await post('came.in', email)
    expect((await engine().row(id)).ended_status).toBeNull()
    await post('came.in', email)
    expect((await engine().ended(id, 'COMPLETED')).outcome).toBe('met')
    expect((await stepLines(id)).slice(1)).toEqual(['wait met', 'met -'])
  })

  test('is met when a rule of time in the segment turns', async () => {
    const quiet = await segment(rule('properties.seen_at', 'older_than', 1_500))
    const { id } = await waitFor(quiet, { seen_at: Date.now() })
    expect((await engine().ended(id, 'COMPLETED')).outcome).toBe('met')
  })

  test('finds a changed condition at the next change of the contact', async () => {
    const one = await segment(rule('properties.level', 'eq', 9))
    const { id, email } = await waitFor(one, { level: 1 })
    const changed = { id: one, condition: rule('properties.level', 'eq', 1) }
    expect(isRefusal(await updateSegment(deps, api.workspaceId, changed))).toBe(false)
    expect((await engine().row(id)).ended_status).toBeNull()
    await patch(email, { other: 1 })
    expect((await engine().ended(id, 'COMPLETED')).outcome).toBe('met')
  })
})

test('an exit condition ends an execution when the contact enters the segment', async () => {
  const never = await segment(rule('properties.never', 'is_true'))
  const gone = await segment(rule('properties.gone', 'is_true'))
  const { id, email } = await waitFor(never, {}, { exit_conditions: [inside(gone)] })
  await patch(email, { gone: true })
  expect((await engine().ended(id, 'COMPLETED')).outcome).toBe('exited')
})

test('a segment that there is not keeps a design from being activated, at its node', async () => {
  const unknown = 'seg_01JD0000000000000000000000'
  const body = {
    name: 'Flow',
    status: 'active',
    design: design(
      {
        start: ['trigger', { kind: 'segment_entered', segment_id: unknown }],
        only: ['filter', { condition: inside(unknown) }],
        end: ['exit', {}],
      },
      [
        ['start', 'only'],
        ['only', 'end'],
      ],
    ),
  }
  const answer = await api.request<{ problems: { node_id: string; code: string }[] }>(
    'POST',
    '/v1/workflows',
    body,
  )
  expect(answer.status).toBe(400)
  expect(answer.body.problems.map(({ node_id, code }) => `${node_id} ${code}`)).toEqual([
    'start unknown_segment',
    'only unknown_segment',
  ])
})
