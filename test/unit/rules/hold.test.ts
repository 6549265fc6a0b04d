// What a paused workflow holds, by table: where the walk stops, what acts meanwhile, and how it goes on.
import { describe, expect, test } from 'vitest'
import type { Design, Node } from '../../../rules/design/types.ts'
import { walkSegment } from '../../../rules/interpreter.ts'
import type { SegmentFacts, SegmentStart } from '../../../rules/interpreterTypes.ts'
import { factsOf, now } from './builders.ts'
import { designOf, ended, sending, start } from './runners.ts'

const HOUR_MS = 3_600_000
const is = (field: string) => ({ type: 'rule', field, operator: 'is_true' }) as const
const hello: Node = { id: 'hello', type: 'send_email', data: { template_id: 'welcome' } }
const rest: Node = { id: 'rest', type: 'delay', data: { ms: 60_000 } }
const goal: Node = { id: 'goal', type: 'goal', data: { condition: is('properties.done') } }
const end: Node = { id: 'end', type: 'exit', data: { outcome: 'over' } }
const arrows = ['t>rest', 'rest>hello', 'hello>end'] as const

const withSettings = (settings: object, ...more: Node[]): Design => ({
  ...designOf([rest, hello, end, ...more], ...arrows, ...more.map(({ id }) => `${id}>hello`)),
  settings: { on_pause: 'hold', ...settings },
})
const holding = withSettings({})

/** In a workflow that is paused, unless said; with these properties, after that many steps. */
const facts = (
  properties: SegmentFacts['contact']['properties'] = {},
  more: Partial<SegmentFacts> = {},
): SegmentFacts => ({
  ...factsOf({ contact: { email: 'a@example.test', first_seen: 0, properties } }),
  isPaused: true,
  ...more,
})
const afterRest: SegmentStart = { kind: 'resume', nodeId: 'rest', handle: 'default' }
const heldAt = (nodeId: string, since = now - HOUR_MS): SegmentStart => ({
  kind: 'held',
  nodeId,
  since,
})

/** `node handle why` of each step, what was sent, how the wait was left, and what is next. */
function walk(design: Design, at: SegmentStart, given: SegmentFacts) {
  const tools = sending()
  const { steps, left, next, facts: after } = walkSegment(design, at, given, tools)
  return {
    steps: steps.map(({ nodeId, handle, why }) => `${nodeId} ${handle} ${why}`),
    sent: tools.sent,
    left,
    next,
    count: after.execution.step_count,
  }
}

const hold = (nodeId: string, more: object = {}) => ({
  kind: 'wait',
  for: 'hold',
  nodeId,
  since: now,
  until: null,
  ...more,
})

describe('a paused workflow', () => {
  test('holds before the first node', () => {
    const walked = walk(holding, start, facts())
    expect(walked).toMatchObject({ steps: ['t null held'], next: hold('t'), count: 1, sent: [] })
  })

  test('holds after a wait that is over, before the next node', () => {
    const walked = walk(holding, afterRest, facts())
    expect(walked.steps).toEqual(['hello null held'])
    expect(walked).toMatchObject({ left: { handle: 'default' }, next: hold('hello'), sent: [] })
  })

  test('lets a wait go on that is asked again and not over', () => {
    const again = { kind: 'again', nodeId: 'rest', since: now - 1_000 } as const
    expect(walk(holding, again, facts()).next).toMatchObject({ for: 'nothing', nodeId: 'rest' })
  })

  test('sends no mail that a cap has put off, which is the step before which it is held', () => {
    const putOff = { kind: 'again', nodeId: 'hello', since: now - 1_000 } as const
    const walked = walk(holding, putOff, facts())
    expect(walked).toMatchObject({ steps: [], left: { handle: null, why: 'held' }, sent: [] })
    expect(walked.next).toEqual(hold('hello', { since: now - 1_000 }))
    expect(walked.count).toBe(facts().execution.step_count)
    expect(walk(holding, putOff, facts({}, { isPaused: false })).sent).toHaveLength(1)
  })

  test('lets an execution end where nothing follows', () => {
    const last: Design = { ...designOf([rest], 't>rest'), settings: { on_pause: 'hold' } }
    expect(walk(last, afterRest, facts()).next).toEqual(ended('completed'))
  })

  test.each([
    ['on_pause continue', withSettings({ on_pause: 'continue' }), facts()],
    ['an active workflow', holding, facts({}, { isPaused: false })],
    ['an unknown state', holding, factsOf()],
  ])('does not hold with %s', (_, design, given) => {
    const walked = walk(design, afterRest, given)
    expect(walked).toMatchObject({ sent: ['hello'], next: ended('over') })
  })
})

describe('while it is held', () => {
  test('nothing changes when nothing has happened', () => {
    const walked = walk(holding, heldAt('hello'), facts())
    expect(walked).toMatchObject({ steps: [], left: null, sent: [], count: 0 })
    expect(walked.next).toEqual(hold('hello', { since: now - HOUR_MS }))
  })

  test.each<[string, Design, SegmentFacts, string, object]>([
    [
      'an exit condition',
      withSettings({ exit_conditions: [is('properties.gone')] }),
      facts({ gone: true }),
      'exited',
      ended('exited'),
    ],
    [
      'the longest duration',
      withSettings({ max_duration_ms: HOUR_MS }),
      facts({}, { enteredAt: now - HOUR_MS }),
      'max_duration',
      ended('max_duration'),
    ],
    [
      'a goal, whose node is entered, and the one behind it is not',
      withSettings({}, goal),
      facts({ done: true }),
      'goal',
      hold('hello'),
    ],
  ])('it is left by %s', (_, design, given, why, next) => {
    const walked = walk(design, heldAt('end'), given)
    expect(walked).toMatchObject({ left: { handle: null, why }, sent: [], next })
    // It is as true of one that would be held now, and notes no step of the node.
    const isGoal = why === 'goal'
    const steps = isGoal ? ['goal default goal', 'hello null held'] : []
    expect(walked.steps).toEqual(steps)
    expect(walk(design, afterRest, given)).toMatchObject({ steps, sent: [], next })
  })

  test('time is looked at when it may interrupt', () => {
    const design = withSettings({ max_duration_ms: HOUR_MS })
    const until = now + HOUR_MS
    expect(walk(design, afterRest, facts()).next).toEqual(hold('hello', { until, again: true }))
  })
})

test('a release enters the node, whose step counts once', () => {
  const active = facts({}, { isPaused: false, execution: { step_count: 3 } })
  const walked = walk(holding, { kind: 'released', nodeId: 'hello' }, active)
  expect(walked.steps).toEqual(['hello default null', 'end null null'])
  expect(walked).toMatchObject({ sent: ['hello'], next: ended('over'), count: 4, left: null })
})

test.each<[string, Design, string, string[], object]>([
  [
    'a goal',
    withSettings({}, goal),
    'goal',
    ['goal default goal', 'hello default null', 'end null null'],
    ended('over'),
  ],
  [
    'an exit condition',
    withSettings({ exit_conditions: [is('properties.done')] }),
    'exited',
    [],
    ended('exited'),
  ],
])(
  'a release before a send that %s takes away leaves the step at which it was held',
  (_, design, why, steps, next) => {
    const active = facts({ done: true }, { isPaused: false, execution: { step_count: 3 } })
    const walked = walk(design, { kind: 'released', nodeId: 'hello' }, active)
    expect(walked).toMatchObject({ left: { handle: null, why }, steps, next })
    expect(walked.count).toBe(3 + steps.length)
  },
)
