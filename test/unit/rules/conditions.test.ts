// Every field, leaf and connective of a condition, the facts that it needs, and its explanation.
import { describe, expect, test } from 'vitest'
import { evaluate, explain } from '../../../rules/conditions/evaluate.ts'
import { conditionNeeds } from '../../../rules/conditions/needs.ts'
import type { Condition, Operator } from '../../../rules/conditions/types.ts'
import { designNeeds } from '../../../rules/design/needs.ts'
import type { Json } from '../../../rules/json.ts'
import { factsOf, now, welcomeDesign } from './builders.ts'

const day = 86_400_000

function rule(field: string, operator: Operator, value?: Json): Condition {
  return { type: 'rule', field, operator, ...(value === undefined ? {} : { value }) }
}

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
  test('[] matches any element, also with negative operators', () => {
    expect(evaluate(rule('event.items[].sku', 'neq', 'x'), facts)).toBe(true)
    expect(evaluate({ type: 'not', rules: [rule('event.items[].sku', 'eq', 'x')] }, facts)).toBe(
      false,
    )
  })
  test('[] of an empty array, or of no array, is a missing field', () => {
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

  test('event_count counts by name, within a span if given', () => {
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
  test('audience, for a member and for others', () => {
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
      { type: 'segment', segment_id: 'seg_1', member: false },
      { type: 'email_activity', node_id: 'any', status: 'opened' },
      rule('trigger.x', 'exists'),
    ],
  }
  expect(conditionNeeds(condition)).toEqual({
    fields: true,
    eventNames: ['a'],
    audienceIds: ['aud_1'],
    segmentIds: ['seg_1'],
    emailActivity: true,
    steps: false,
  })
  expect(designNeeds(welcomeDesign())).toEqual({
    fields: true,
    eventNames: [],
    audienceIds: [],
    segmentIds: [],
    emailActivity: false,
    steps: false,
  })
  const answered: Condition = { type: 'not', rules: [rule('steps.crm.status', 'exists')] }
  expect(conditionNeeds(answered).steps).toBe(true)
})

test('explain describes a condition in one short line', () => {
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
