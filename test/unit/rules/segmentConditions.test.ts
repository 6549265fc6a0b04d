// The condition `segment`: evaluated by the conditions of the named segments, with its instants, its needs and what names itself.
import { describe, expect, test } from 'vitest'
import { evaluate, explain } from '../../../rules/conditions/evaluate.ts'
import { conditionNeeds, withSegments } from '../../../rules/conditions/needs.ts'
import { nextTurn } from '../../../rules/conditions/turns.ts'
import type { Condition } from '../../../rules/conditions/types.ts'
import { limits } from '../../../rules/limits.ts'
import { linkFault, readBy, readersOf } from '../../../rules/segments/links.ts'
import { factsOf, now } from './builders.ts'

const inside = (segment_id: string, member = true): Condition => ({
  type: 'segment',
  segment_id,
  member,
})
const isPro: Condition = { type: 'rule', field: 'properties.plan', operator: 'eq', value: 'pro' }
const contact = (plan: string) => ({
  email: 'ada@example.test',
  first_seen: 0,
  properties: { plan },
})

describe('evaluating', () => {
  const segments = { pros: isPro, others: inside('pros', false), loop: inside('loop') }
  const pro = factsOf({ contact: contact('pro'), segments })
  const free = factsOf({ contact: contact('free'), segments })

  test.each<[string, Condition, boolean, boolean]>([
    ['in it', inside('pros'), true, false],
    ['not in it', inside('pros', false), false, true],
    ['by way of another', inside('others'), false, true],
    ['not by way of another', inside('others', false), true, false],
    ['both', { type: 'and', rules: [inside('pros'), inside('others')] }, false, false],
    ['either', { type: 'or', rules: [inside('pros'), inside('others')] }, true, true],
    ['nobody is in one that there is not', inside('gone'), false, false],
    ['everybody is outside of one that there is not', inside('gone', false), true, true],
    ['a name of every object', inside('constructor'), false, false],
    ['one that names itself ends', inside('loop'), false, false],
  ])('%s', (_name, condition, ofPro, ofFree) => {
    expect([evaluate(condition, pro), evaluate(condition, free)]).toEqual([ofPro, ofFree])
  })

  test('each segment is looked at once, however often it is named', () => {
    // Twenty that each name the next one ten times: 10^20 looks, were they not remembered.
    const names = Array.from({ length: 20 }, (_, i) => `s${i}`)
    const chain = Object.fromEntries(
      names.map((name, i): [string, Condition] => [
        name,
        { type: 'and', rules: Array.from({ length: 10 }, () => inside(`s${i + 1}`)) },
      ]),
    )
    const facts = factsOf({ contact: contact('pro'), segments: { ...chain, s20: isPro } })
    expect(evaluate(inside('s0'), facts)).toBe(true)
    expect(nextTurn([inside('s0', false)], facts)).toBeNull()
  })

  test('without the segments nobody is in one', () => {
    expect(evaluate(inside('pros'), factsOf())).toBe(false)
  })

  test('explain quotes the id alone', () => {
    expect(explain(inside('pros'), true)).toBe('in pros is true')
    expect(explain(inside('pros', false), false)).toBe('not in pros is false')
  })
})

test('a rule of time within a segment turns the condition that names it', () => {
  const HOUR = 3_600_000
  const segments = {
    recent: {
      type: 'event_count',
      event_name: 'seen',
      operator: 'gte',
      value: 1,
      within_ms: HOUR,
    } satisfies Condition,
    quiet: inside('recent', false),
  }
  const facts = factsOf({ eventTimes: { seen: [now - 1_000] }, segments })
  expect(nextTurn([inside('quiet')], facts)).toBe(now - 1_000 + HOUR + 1)
  expect(nextTurn([inside('recent')], facts)).toBeNull()
})

test('what named segments read is needed too', () => {
  const needs = conditionNeeds(inside('a'))
  const a: Condition = {
    type: 'or',
    rules: [
      { type: 'event_count', event_name: 'seen', operator: 'gt', value: 0 },
      { type: 'audience', audience_id: 'aud_1', member: true },
    ],
  }
  expect(withSegments(needs, { a })).toMatchObject({ eventNames: ['seen'], audienceIds: ['aud_1'] })
})

describe('links', () => {
  const links = (of: Record<string, string[]>) => new Map(Object.entries(of))

  test('reach those that are named by way of others, and those who name', () => {
    const of = links({ a: ['b'], b: ['c', 'gone'], c: [], d: ['c'] })
    expect([...readBy(of, 'a')].sort()).toEqual(['b', 'c', 'gone'])
    expect(readersOf(of, 'c')).toEqual(['a', 'b', 'd'])
    expect(linkFault(of, 'a')).toBeNull()
  })

  test.each<[string, Record<string, string[]>, string[]]>([
    ['itself', { a: ['a'] }, []],
    ['by way of one', { a: ['b'], b: ['a'] }, ['b']],
    ['by way of two, past others', { a: ['b', 'x'], b: ['c'], c: ['a'], x: ['y'] }, ['b', 'c']],
  ])('a segment that names itself: %s', (_name, of, by) => {
    expect(linkFault(links(of), 'a')).toEqual({ kind: 'cycle', by })
  })

  test('a segment reads so many others at most, and so do those who name it', () => {
    const names = (count: number) => Array.from({ length: count }, (_, i) => `s${i}`)
    const most = limits.segmentsReadMax
    expect(linkFault(links({ a: names(most) }), 'a')).toBeNull()
    expect(linkFault(links({ a: names(most + 1) }), 'a')).toEqual({ kind: 'wide' })
    expect(linkFault(links({ a: names(most), z: ['a'] }), 'a')).toEqual({ kind: 'wide' })
  })
})
