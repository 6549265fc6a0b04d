// Every operator against a present, a missing and a wrongly typed field; every field, leaf and connective.
import { describe, expect, test } from 'vitest'
import { designNeeds } from '../../domain/conditionNeeds.ts'
import { conditionNeeds, evaluate, explain } from '../../domain/conditions.ts'
import { type Condition, type Operator, operators } from '../../domain/conditionTypes.ts'
import type { Json } from '../../domain/json.ts'
import { factsOf, now, welcomeDesign, withProperties } from './domainBuilders.ts'

const day = 86_400_000

function rule(field: string, operator: Operator, value?: Json, ci?: boolean): Condition {
  return {
    type: 'rule',
    field,
    operator,
    ...(value === undefined ? {} : { value }),
    ...(ci === undefined ? {} : { ci }),
  }
}

function holds(stored: Json | undefined, operator: Operator, value?: Json, ci?: boolean): boolean {
  const facts = withProperties(stored === undefined ? {} : { x: stored })
  return evaluate(rule('properties.x', operator, value, ci), facts)
}

describe('a missing field', () => {
  const trueWhenMissing = ['neq', 'not_in', 'not_contains', 'not_exists', 'is_empty']
  const values: Partial<Record<Operator, Json>> = {
    in: ['a'],
    not_in: ['a'],
    before: now,
    after: 0,
    within_last: 'P1D',
    older_than: 0,
    gt: -1,
    lt: 9,
  }
  test.each(operators)('%s', (operator) => {
    const expected = trueWhenMissing.includes(operator)
    expect(holds(undefined, operator, values[operator] ?? 'a')).toBe(expected)
    expect(evaluate(rule('event.a.b.c', operator, values[operator] ?? 'a'), factsOf())).toBe(
      expected,
    )
  })
  test('an inherited key is missing', () => {
    for (const key of ['constructor', '__proto__', 'toString', 'length']) {
      expect(evaluate(rule(`properties.${key}`, 'exists'), factsOf())).toBe(false)
      expect(evaluate(rule(`properties.x.${key}`, 'exists'), withProperties({ x: ['a'] }))).toBe(
        false,
      )
    }
  })
})

// operator, stored, value, expected
const table: [Operator, Json, Json | undefined, boolean][] = [
  ['eq', 'pro', 'pro', true],
  ['eq', 'Pro', 'pro', false],
  ['eq', 5, 5, true],
  ['eq', 5, '5', false],
  ['eq', '5', 5, false],
  ['eq', true, true, true],
  ['eq', true, 'true', false],
  ['eq', 0, false, false],
  ['eq', null, null, true],
  ['eq', { a: 1, b: [2] }, { b: [2], a: 1 }, true],
  ['eq', [1, 2], [2, 1], false],
  ['neq', 'pro', 'free', true],
  ['neq', 'pro', 'pro', false],
  ['neq', 5, '5', true],
  ['gt', 6, 5, true],
  ['gt', 5, 5, false],
  ['gt', '6', 5, false],
  ['gt', 6, '5', false],
  ['gt', 'b', 'a', true],
  ['gt', { n: 6 }, 5, false],
  ['gte', 5, 5, true],
  ['gte', 4, 5, false],
  ['gte', '5', 5, false],
  ['lt', 4, 5, true],
  ['lt', 5, 5, false],
  ['lt', '4', 5, false],
  ['lt', null, 5, false],
  ['lte', 5, 5, true],
  ['lte', 6, 5, false],
  ['lte', true, 5, false],
  ['contains', 'a cat', 'cat', true],
  ['contains', 'a cat', 'dog', false],
  ['contains', ['cat', 'dog'], 'dog', true],
  ['contains', [1, 2], 2, true],
  ['contains', [1, 2], '2', false],
  ['contains', 12, '1', false],
  ['contains', { cat: 1 }, 'cat', false],
  ['not_contains', 'a cat', 'dog', true],
  ['not_contains', 'a cat', 'cat', false],
  ['not_contains', ['cat'], 'cat', false],
  ['not_contains', 12, '1', true],
  ['starts_with', 'invoice', 'inv', true],
  ['starts_with', 'invoice', 'voice', false],
  ['starts_with', ['invoice'], 'inv', false],
  ['ends_with', 'invoice', 'voice', true],
  ['ends_with', 'invoice', 'inv', false],
  ['ends_with', 12, '2', false],
  ['in', 'a', ['a', 'b'], true],
  ['in', 'c', ['a', 'b'], false],
  ['in', 1, ['1'], false],
  ['in', ['a'], ['a'], false],
  ['in', 'a', 'abc', false],
  ['not_in', 'c', ['a', 'b'], true],
  ['not_in', 'a', ['a', 'b'], false],
  ['not_in', 1, ['1'], true],
  ['exists', '', undefined, true],
  ['exists', null, undefined, true],
  ['exists', false, undefined, true],
  ['not_exists', 0, undefined, false],
  ['is_empty', '', undefined, true],
  ['is_empty', null, undefined, true],
  ['is_empty', [], undefined, true],
  ['is_empty', {}, undefined, true],
  ['is_empty', 0, undefined, false],
  ['is_empty', false, undefined, false],
  ['is_empty', ' ', undefined, false],
  ['is_not_empty', 'a', undefined, true],
  ['is_not_empty', [null], undefined, true],
  ['is_not_empty', {}, undefined, false],
  ['is_true', true, undefined, true],
  ['is_true', false, undefined, false],
  ['is_true', 'true', undefined, false],
  ['is_true', 1, undefined, false],
  ['is_false', false, undefined, true],
  ['is_false', true, undefined, false],
  ['is_false', 0, undefined, false],
  ['is_false', null, undefined, false],
  ['before', '2026-03-01', '2026-03-02T00:00:00Z', true],
  ['before', now, now, false],
  ['before', '2026-03-10T13:30:00+02:00', now, true],
  ['before', 'soon', now, false],
  ['before', '5', 10, false],
  ['after', now, '2026-03-10T11:59:59.999Z', true],
  ['after', '2026-03-10', now, false],
  ['after', true, 0, false],
  ['within_last', now - day, 'P1D', true],
  ['within_last', now - day - 1, 'P1D', false],
  ['within_last', now - 5, 10, true],
  ['within_last', now + 1, 'P1D', false],
  ['within_last', '2026-02-10T12:00:00', 'P1M', true],
  ['within_last', 'yesterday', 'P1D', false],
  ['older_than', now - day - 1, 'P1D', true],
  ['older_than', now - day, 'P1D', false],
  ['older_than', '2025-03-01', 'P1Y', true],
  ['older_than', now + day, 'P1D', false],
  ['older_than', 'long ago', 'P1D', false],
]

describe('operators', () => {
  test.each(table)('%s: %j and %j is %j', (operator, stored, value, expected) => {
    expect(holds(stored, operator, value)).toBe(expected)
  })
  test('every operator stands in the table both ways', () => {
    for (const operator of operators) {
      const answers = new Set(table.filter((row) => row[0] === operator).map((row) => row[3]))
      if (operator === 'exists') answers.add(holds(undefined, operator))
      if (operator === 'not_exists') answers.add(holds(undefined, operator))
      expect([operator, answers.size]).toEqual([operator, 2])
    }
  })
  test.each<[Operator, Json, Json]>([
    ['eq', 'PRO', 'pro'],
    ['contains', 'A CAT', 'cat'],
    ['contains', ['CAT'], 'cat'],
    ['starts_with', 'INVOICE', 'inv'],
    ['ends_with', 'INVOICE', 'Voice'],
    ['in', 'A', ['a']],
  ])('%s ignores case with ci alone', (operator, stored, value) => {
    expect(holds(stored, operator, value, true)).toBe(true)
    expect(holds(stored, operator, value)).toBe(false)
    expect(holds(stored, operator, value, false)).toBe(false)
  })
  test('the opposites turn around with ci', () => {
    expect(holds('PRO', 'neq', 'pro', true)).toBe(false)
    expect(holds('PRO', 'not_in', ['pro'], true)).toBe(false)
    expect(holds('PRO', 'not_contains', 'r', true)).toBe(false)
  })
  test('an unknown operator or type is false', () => {
    expect(holds('a', 'constructor' as Operator, 'a')).toBe(false)
    expect(evaluate({ type: 'segment' } as unknown as Condition, factsOf())).toBe(false)
    expect(evaluate(rule('nobody.x', 'neq', 1), factsOf())).toBe(false)
  })
})

describe('fields', () => {
  const facts = factsOf({
    contact: { email: 'ada@example.test', first_seen: 7, properties: { a: { b: 1 } } },
    event: {
      a: { b: 2 },
      items: [
        { sku: 'x', tags: ['t1'] },
        { sku: 'y', tags: [] },
      ],
      none: [],
    },
    trigger: { a: 3 },
    waitEvents: { paid: { a: 4 } },
    execution: { step_count: 5 },
  })
  test.each<[string, Json]>([
    ['contact.email', 'ada@example.test'],
    ['contact.first_seen', 7],
    ['properties.a.b', 1],
    ['event.a.b', 2],
    ['trigger.a', 3],
    ['wait_events.paid.a', 4],
    ['execution.step_count', 5],
    ['event.items[].sku', 'y'],
    ['event.items[].tags[]', 't1'],
  ])('%s', (field, value) => {
    expect(evaluate(rule(field, 'eq', value), facts)).toBe(true)
    expect(evaluate(rule(field, 'eq', 'other'), facts)).toBe(false)
  })
  test('[] asks for any element, negatives too', () => {
    expect(evaluate(rule('event.items[].sku', 'neq', 'x'), facts)).toBe(true)
    expect(evaluate({ type: 'not', rules: [rule('event.items[].sku', 'eq', 'x')] }, facts)).toBe(
      false,
    )
  })
  test('[] of nothing, or of no array, is a missing field', () => {
    for (const field of ['event.none[]', 'event.a[]', 'event.none[].x']) {
      expect(evaluate(rule(field, 'not_exists'), facts)).toBe(true)
      expect(evaluate(rule(field, 'exists'), facts)).toBe(false)
    }
  })
})

describe('connectives and leaves', () => {
  const yes = rule('contact.email', 'exists')
  const no = rule('contact.email', 'not_exists')
  test.each<[Condition, boolean]>([
    [{ type: 'and', rules: [yes, yes] }, true],
    [{ type: 'and', rules: [yes, no] }, false],
    [{ type: 'or', rules: [no, yes] }, true],
    [{ type: 'or', rules: [no, no] }, false],
    [{ type: 'not', rules: [no] }, true],
    [{ type: 'not', rules: [yes] }, false],
    [
      { type: 'not', rules: [{ type: 'or', rules: [no, { type: 'and', rules: [yes, no] }] }] },
      true,
    ],
  ])('%j', (condition, expected) => {
    expect(evaluate(condition, factsOf())).toBe(expected)
  })

  test('event_count counts by name, within a span when given', () => {
    const facts = factsOf({ eventTimes: { seen: [now - day, now - 10, now + 5] } })
    const count = (value: number, within_ms?: number): Condition => ({
      type: 'event_count',
      event_name: 'seen',
      operator: 'eq',
      value,
      ...(within_ms === undefined ? {} : { within_ms }),
    })
    expect(evaluate(count(3), facts)).toBe(true)
    expect(evaluate(count(2, 10), facts)).toBe(true)
    expect(evaluate(count(1, 9), facts)).toBe(true)
    const inherited: Condition = {
      type: 'event_count',
      event_name: 'toString',
      operator: 'eq',
      value: 0,
    }
    expect(evaluate(inherited, facts)).toBe(true)
  })
  test.each([
    ['eq', false],
    ['neq', true],
    ['gt', true],
    ['gte', true],
    ['lt', false],
    ['lte', false],
  ] as const)('event_count %s', (operator, expected) => {
    const facts = factsOf({ eventTimes: { seen: [1, 2, 3] } })
    const leaf: Condition = { type: 'event_count', event_name: 'seen', operator, value: 2 }
    expect(evaluate(leaf, facts)).toBe(expected)
  })
  test('email_activity of one node, and of any', () => {
    const facts = factsOf({ emailActivity: { hello: ['sent', 'opened'] } })
    const activity = (node_id: string, status: 'opened' | 'clicked'): boolean =>
      evaluate({ type: 'email_activity', node_id, status }, facts)
    expect(activity('hello', 'opened')).toBe(true)
    expect(activity('hello', 'clicked')).toBe(false)
    expect(activity('other', 'opened')).toBe(false)
    expect(activity('any', 'opened')).toBe(true)
    expect(activity('any', 'clicked')).toBe(false)
    expect(activity('constructor', 'opened')).toBe(false)
  })
  test('audience, as member and as no member', () => {
    const facts = factsOf({ audiences: ['aud_1'] })
    const member = (audience_id: string, isMember: boolean): boolean =>
      evaluate({ type: 'audience', audience_id, member: isMember }, facts)
    expect(member('aud_1', true)).toBe(true)
    expect(member('aud_1', false)).toBe(false)
    expect(member('aud_2', true)).toBe(false)
    expect(member('aud_2', false)).toBe(true)
  })
})

test('conditionNeeds names what must be loaded, once', () => {
  const count: Condition = { type: 'event_count', event_name: 'a', operator: 'gt', value: 0 }
  const condition: Condition = {
    type: 'and',
    rules: [
      count,
      { type: 'not', rules: [count] },
      { type: 'or', rules: [{ type: 'audience', audience_id: 'aud_1', member: true }] },
      { type: 'email_activity', node_id: 'any', status: 'opened' },
      rule('trigger.x', 'exists'),
    ],
  }
  expect(conditionNeeds(condition)).toEqual({
    eventNames: ['a'],
    audienceIds: ['aud_1'],
    emailActivity: true,
    trigger: true,
    waitEvents: false,
  })
  expect(designNeeds(welcomeDesign())).toEqual({
    eventNames: [],
    audienceIds: [],
    emailActivity: false,
    trigger: false,
    waitEvents: false,
  })
})

test('explain quotes the design in one short line', () => {
  expect(explain(rule('properties.plan', 'eq', 'pro'), true)).toBe(
    'properties.plan eq "pro" is true',
  )
  expect(explain(rule('properties.plan', 'exists', 'left over'), false)).toBe(
    'properties.plan exists is false',
  )
  const both: Condition = {
    type: 'and',
    rules: [rule('event.a', 'gt', 1), rule('event.b', 'exists')],
  }
  expect(explain(both, true)).toBe('(event.a gt 1 and event.b exists) is true')
  expect(explain(rule('event.a', 'eq', 'x'.repeat(300)), true)).toBe('rule is true')
})
