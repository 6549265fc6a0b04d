// frequency_cap: when one more mail fits, and what the interpreter does with one that does not.
// Long because each way in which a cap and a mail meet is one row.
import { describe, expect, test } from 'vitest'
import { capEnds, type FrequencyCap } from '../../../rules/design/frequencyCap.ts'
import type { Settings } from '../../../rules/design/settings.ts'
import type { Design, Node } from '../../../rules/design/types.ts'
import { validateDesign } from '../../../rules/design/validate.ts'
import { walkSegment } from '../../../rules/interpreter.ts'
import type { SegmentFacts, SegmentTools } from '../../../rules/interpreterTypes.ts'
import { limits } from '../../../rules/limits.ts'
import { factsOf, now, welcomeContext, welcomeDesign } from './builders.ts'
import { designOf, ended, exists, failed, sending, start } from './runners.ts'

const HOUR_MS = 3_600_000
const capOf = (count: number, on_hit?: 'wait' | 'skip'): FrequencyCap => ({
  count,
  per_ms: HOUR_MS,
  ...(on_hit ? { on_hit } : {}),
})

test.each<[string, number, number[], number | null]>([
  ['nothing was sent', 1, [], null],
  ['one of two', 2, [0], null],
  ['one of one, now', 1, [0], HOUR_MS],
  ['one of one, a ms before it fits', 1, [1 - HOUR_MS], 1],
  ['one of one, at the ms at which it fits', 1, [-HOUR_MS], null],
  ['two of two: when the first leaves', 2, [-20, -10], HOUR_MS - 20],
  ['two of two in another order', 2, [-10, -20], HOUR_MS - 20],
  ['more than fit: when all but one have left', 2, [-40, -30, -20, -10], HOUR_MS - 20],
  ['what has left does not count', 2, [-2 * HOUR_MS, -HOUR_MS, -10], null],
  ['two at the same ms', 2, [-10, -10], HOUR_MS - 10],
  ['a clock that is ahead', 1, [5], HOUR_MS + 5],
])('%s', (_name, count, sent, after) => {
  const times = sent.map((at) => now + at)
  expect(capEnds(capOf(count), times, now)).toBe(after === null ? null : now + after)
})

describe('send_email', () => {
  const node = (data: object = {}): Node => ({
    id: 'n',
    type: 'send_email',
    data: { template_id: 'welcome', ...data },
  })
  const graphOf = (frequency_cap: FrequencyCap | undefined, data: object, handles: string[]) => {
    const exits = handles.map(
      (handle): Node => ({ id: handle, type: 'exit', data: { outcome: handle } }),
    )
    const wires = handles.map((handle) => `n.${handle}>${handle}`)
    const settings: Settings = frequency_cap ? { frequency_cap } : {}
    return { ...designOf([node(data), ...exits], 't>n', ...wires), settings } as Design
  }
  const factsWith = (...sent: number[]): SegmentFacts => ({
    ...factsOf(),
    marketingSent: sent.map((at) => now + at),
  })
  const refusing = (why: 'suppressed' | 'unsubscribed') => {
    const refusal =
      why === 'suppressed' ? ({ kind: why } as const) : ({ kind: 'skipped', why } as const)
    return { ...sending(refusal), refusesMail: () => refusal }
  }
  const waiting = (until: number) => ({
    kind: 'wait',
    nodeId: 'n',
    for: 'nothing',
    again: true,
    since: now,
    until: now + until,
  })
  const all = ['default', 'skipped', 'failed']
  const transactional = { category: 'transactional' }

  test.each<
    [
      string,
      FrequencyCap | undefined,
      object,
      string[],
      number[],
      SegmentTools,
      object,
      string | null,
    ]
  >([
    ['fits', capOf(2, 'skip'), {}, all, [-5], sending(), ended('default'), null],
    ['skips', capOf(1, 'skip'), {}, all, [-5], sending(), ended('skipped'), 'frequency_cap'],
    [
      'skips unless it is said',
      capOf(1),
      {},
      all,
      [-5],
      sending(),
      ended('skipped'),
      'frequency_cap',
    ],
    [
      'skips, unwired',
      capOf(1, 'skip'),
      {},
      ['default'],
      [-5],
      sending(),
      ended('default'),
      'frequency_cap',
    ],
    ['waits', capOf(1, 'wait'), {}, all, [-5], sending(), waiting(HOUR_MS - 5), 'frequency_cap'],
    [
      'fits at its instant',
      capOf(1, 'wait'),
      {},
      all,
      [-HOUR_MS],
      sending(),
      ended('default'),
      null,
    ],
    ['without a cap', undefined, {}, all, [-5, -5], sending(), ended('default'), null],
    [
      'transactional',
      capOf(1, 'wait'),
      transactional,
      all,
      [-5],
      sending(),
      ended('default'),
      null,
    ],
    [
      'mail to the team',
      capOf(1, 'wait'),
      { to: 'sales@demo.test', category: 'marketing' },
      all,
      [-5],
      sending(),
      ended('default'),
      null,
    ],
    [
      'marketing with a copy',
      capOf(1, 'skip'),
      { cc: 'sales@demo.test' },
      all,
      [-5],
      sending(),
      ended('skipped'),
      'frequency_cap',
    ],
    [
      'marketing by name',
      capOf(1, 'skip'),
      { category: 'marketing' },
      all,
      [-5],
      sending(),
      ended('skipped'),
      'frequency_cap',
    ],
    [
      'a guard comes first',
      capOf(1, 'wait'),
      { guard: exists },
      all,
      [-5],
      sending(),
      ended('skipped'),
      'guard',
    ],
    [
      'who left does not wait',
      capOf(1, 'wait'),
      {},
      all,
      [-5],
      refusing('unsubscribed'),
      ended('skipped'),
      'unsubscribed',
    ],
    [
      'who is suppressed does not wait',
      capOf(1, 'wait'),
      { on_suppressed: 'fail' },
      ['default'],
      [-5],
      refusing('suppressed'),
      failed('n: suppressed'),
      'suppressed',
    ],
  ])('%s', (_name, cap, data, handles, sent, tools, next, why) => {
    const found = walkSegment(graphOf(cap, data, handles), start, factsWith(...sent), tools)
    expect(found.next).toEqual(next)
    expect(found.steps[1]?.why).toBe(why)
  })

  test('is asked again at its moment: it sends, waits for what came meanwhile, or is skipped', () => {
    const again = { kind: 'again', nodeId: 'n', since: now - HOUR_MS } as const
    const graph = graphOf(capOf(1, 'wait'), { guard: { ...exists, field: 'properties.a' } }, all)
    const known = { email: 'ada@example.test', first_seen: 0, properties: { a: 1 } }
    const tools = sending()
    const sent = walkSegment(graph, again, { ...factsWith(-HOUR_MS), contact: known }, tools)
    expect(sent).toMatchObject({ left: { handle: 'default', why: null }, next: ended('default') })
    expect(tools.sent).toEqual(['n'])
    const meanwhile = walkSegment(graph, again, { ...factsWith(-5), contact: known }, tools)
    expect(meanwhile.next).toMatchObject({ until: now + HOUR_MS - 5, since: now - HOUR_MS })
    expect(meanwhile.steps).toEqual([])
    const guarded = walkSegment(graph, again, factsWith(-HOUR_MS), tools)
    expect(guarded).toMatchObject({ left: { handle: 'skipped', why: 'guard' } })
  })

  test('counts what the same segment has sent, marketing mail alone', () => {
    const nodes = ['a', 'b', 'c'].map((id): Node => ({ ...node(), id }) as Node)
    const design = (frequency_cap: FrequencyCap, first: object) => ({
      ...designOf([{ ...node(first), id: 'a' } as Node, ...nodes.slice(1)], 't>a', 'a>b', 'b>c'),
      settings: { frequency_cap },
    })
    const whys = (graph: Design) =>
      walkSegment(graph, start, factsWith(), sending())
        .steps.slice(1)
        .map(({ why }) => why)
    expect(whys(design(capOf(1), {}))).toEqual([null, 'frequency_cap', 'frequency_cap'])
    expect(whys(design(capOf(2), {}))).toEqual([null, null, 'frequency_cap'])
    expect(whys(design(capOf(2), transactional))).toEqual([null, null, null])
  })

  test('a goal or an exit that holds comes before the wait', () => {
    const isDone = { type: 'rule', field: 'properties.done', operator: 'is_true' } as const
    const graph = graphOf(capOf(1, 'wait'), {}, all)
    const contact = { email: 'ada@example.test', first_seen: 0, properties: { done: true } }
    const design = { ...graph, settings: { ...graph.settings, exit_conditions: [isDone] } }
    const { next } = walkSegment(design, start, { ...factsWith(-5), contact }, sending())
    expect(next).toMatchObject({ outcome: 'exited' })
  })
})

const most = limits.frequencyCapCountMax
test.each<[string, unknown, string[]]>([
  ['a number', 3, ['settings.frequency_cap bad_value']],
  ['a list', [], ['settings.frequency_cap bad_value']],
  [
    'nothing in it',
    {},
    ['settings.frequency_cap.count missing_value', 'settings.frequency_cap.per_ms missing_value'],
  ],
  ['no mail at all', { count: 0, per_ms: 1 }, ['settings.frequency_cap.count bad_value']],
  ['half a mail', { count: 1.5, per_ms: 1 }, ['settings.frequency_cap.count bad_value']],
  ['a text', { count: '1', per_ms: 1 }, ['settings.frequency_cap.count bad_value']],
  ['too many', { count: most + 1, per_ms: 1 }, ['settings.frequency_cap.count bad_value']],
  ['no time', { count: 1, per_ms: 0 }, ['settings.frequency_cap.per_ms bad_value']],
  ['time back', { count: 1, per_ms: -1 }, ['settings.frequency_cap.per_ms bad_value']],
  ['over 100 years', { count: 1, per_ms: 3.2e12 }, ['settings.frequency_cap.per_ms bad_value']],
  ['a duration', { count: 1, per_ms: 'P1D' }, ['settings.frequency_cap.per_ms bad_value']],
  [
    'an unknown on_hit',
    { count: 1, per_ms: 1, on_hit: 'drop' },
    ['settings.frequency_cap.on_hit bad_value'],
  ],
  ['the least', { count: 1, per_ms: 1 }, []],
  ['all of it', { count: most, per_ms: HOUR_MS, on_hit: 'wait' }, []],
])('a cap of %s', (_name, frequency_cap, expected) => {
  const design = { ...welcomeDesign(), settings: { ...welcomeDesign().settings, frequency_cap } }
  const found = validateDesign(design, welcomeContext)
  expect(found.map(({ path, code }) => `${path} ${code}`)).toEqual(expected)
})
