// The validation of conditions: faults with their problems, and valid conditions.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { operators } from '../../../rules/conditions/types.ts'
import { type ConditionContext, validateCondition } from '../../../rules/conditions/validate.ts'
import { limits } from '../../../rules/limits.ts'

const context: ConditionContext = {
  nodeId: 'n1',
  scope: 'node',
  waitNodes: new Set(['paid']),
  sendNodes: new Set(['hello']),
  audiences: new Set(['aud_1']),
  segments: new Set(['seg_1']),
}

function problems(condition: unknown, scope: ConditionContext['scope'] = 'node'): string[] {
  return validateCondition(condition, 'c', { ...context, scope }).map(
    (problem) => `${problem.path} ${problem.code}`,
  )
}

const rule = (changes: object) => ({
  type: 'rule',
  field: 'event.a',
  operator: 'exists',
  ...changes,
})
const nested = (depth: number): object =>
  depth === 0 ? rule({}) : { type: 'and', rules: [nested(depth - 1)] }

describe('accepted', () => {
  test.each<[object]>([
    [rule({})],
    [rule({ operator: 'eq', value: null })],
    [rule({ operator: 'gt', value: 'b' })],
    [rule({ operator: 'in', value: ['a', 1, null] })],
    [rule({ operator: 'before', value: '2026-03-01' })],
    [rule({ operator: 'within_last', value: 'P3D' })],
    [rule({ operator: 'older_than', value: 1000 })],
    [rule({ field: 'wait_events.paid.x' })],
    [rule({ field: 'event.items[].tags[]' })],
    [{ type: 'not', rules: [rule({})] }],
    [{ type: 'event_count', event_name: 'a', operator: 'gte', value: 0, within_ms: 5 }],
    [{ type: 'email_activity', node_id: 'hello', status: 'opened' }],
    [{ type: 'email_activity', node_id: 'any', status: 'sent' }],
    [{ type: 'audience', audience_id: 'aud_1', member: false }],
    [{ type: 'segment', segment_id: 'seg_1', member: true }],
    [nested(limits.conditionDepthMax - 1)],
  ])('%j', (condition) => {
    expect(problems(condition)).toEqual([])
  })
})

describe('refused', () => {
  test.each<[string, unknown, string[]]>([
    ['nothing', undefined, ['c empty_condition']],
    ['null', null, ['c empty_condition']],
    ['an empty object', {}, ['c empty_condition']],
    ['an array', [rule({})], ['c empty_condition']],
    ['no rules', { type: 'and', rules: [] }, ['c.rules empty_condition']],
    ['rules missing', { type: 'or' }, ['c.rules empty_condition']],
    ['an empty inner rule', { type: 'or', rules: [{}] }, ['c.rules.0 empty_condition']],
    ['two under not', { type: 'not', rules: [rule({}), rule({})] }, ['c.rules bad_value']],
    ['an unknown type', { type: 'xor', rules: [] }, ['c.type unknown_condition_type']],
    ['a member', { type: 'member', segment_id: 's' }, ['c.type unknown_condition_type']],
    ['an unknown operator', rule({ operator: 'like' }), ['c.operator unknown_operator']],
    ['an inherited operator', rule({ operator: 'toString' }), ['c.operator unknown_operator']],
    ['an unknown root', rule({ field: 'user.name' }), ['c.field unknown_field']],
    ['a bare root', rule({ field: 'properties' }), ['c.field unknown_field']],
    ['an unknown contact field', rule({ field: 'contact.phone' }), ['c.field unknown_field']],
    ['a path below a scalar', rule({ field: 'contact.email.x' }), ['c.field unknown_field']],
    ['an empty name', rule({ field: 'event..a' }), ['c.field unknown_field']],
    ['a broken bracket', rule({ field: 'event.a[0]' }), ['c.field unknown_field']],
    ['no field', rule({ field: 7 }), ['c.field unknown_field']],
    ['trigger outside a wait', rule({ field: 'trigger.a' }), ['c.field unknown_field']],
    ['an unknown wait', rule({ field: 'wait_events.nope.a' }), ['c.field unknown_node']],
    ['eq with an object', rule({ operator: 'eq', value: {} }), ['c.value bad_value']],
    ['eq without a value', rule({ operator: 'eq' }), ['c.value bad_value']],
    ['gt with an object', rule({ operator: 'gt', value: {} }), ['c.value bad_value']],
    ['gt with true', rule({ operator: 'gt', value: true }), ['c.value bad_value']],
    ['in with text', rule({ operator: 'in', value: 'abc' }), ['c.value bad_value']],
    ['in with nothing', rule({ operator: 'in', value: [] }), ['c.value bad_value']],
    ['not_in with objects', rule({ operator: 'not_in', value: [{}] }), ['c.value bad_value']],
    ['contains with null', rule({ operator: 'contains', value: null }), ['c.value bad_value']],
    ['starts_with a number', rule({ operator: 'starts_with', value: 1 }), ['c.value bad_value']],
    ['before no time', rule({ operator: 'before', value: 'soon' }), ['c.value bad_value']],
    ['after a bad day', rule({ operator: 'after', value: '2026-02-30' }), ['c.value bad_value']],
    [
      'within_last a word',
      rule({ operator: 'within_last', value: '3 days' }),
      ['c.value bad_value'],
    ],
    ['older_than -1', rule({ operator: 'older_than', value: -1 }), ['c.value bad_value']],
    [
      'older_than 200 years',
      rule({ operator: 'older_than', value: 'P200Y' }),
      ['c.value bad_value'],
    ],
    ['ci as text', rule({ ci: 'yes' }), ['c.ci bad_value']],
    [
      'an empty count',
      { type: 'event_count' },
      ['c.event_name bad_value', 'c.operator unknown_operator', 'c.value bad_value'],
    ],
    [
      'a count in halves',
      { type: 'event_count', event_name: 'a', operator: 'eq', value: 0.5 },
      ['c.value bad_value'],
    ],
    [
      'a count within 0',
      { type: 'event_count', event_name: 'a', operator: 'eq', value: 1, within_ms: 0 },
      ['c.within_ms bad_value'],
    ],
    [
      'an unknown mail',
      { type: 'email_activity', node_id: 'nope', status: 'read' },
      ['c.node_id unknown_node', 'c.status bad_value'],
    ],
    [
      'an unknown audience',
      { type: 'audience', audience_id: 'aud_9', member: true },
      ['c.audience_id unknown_audience'],
    ],
    [
      'an unknown segment',
      { type: 'segment', segment_id: 'seg_9', member: true },
      ['c.segment_id unknown_segment'],
    ],
    ['an empty segment', { type: 'segment' }, ['c.segment_id bad_value', 'c.member bad_value']],
    ['an empty audience', { type: 'audience' }, ['c.audience_id bad_value', 'c.member bad_value']],
    [
      'too deep',
      nested(limits.conditionDepthMax),
      [`c${'.rules.0'.repeat(limits.conditionDepthMax)} condition_too_deep`],
    ],
  ])('%s', (_name, condition, expected) => {
    expect(problems(condition)).toEqual(expected)
  })
  test('too many rules are reported once', () => {
    const rules = Array.from({ length: limits.conditionRulesMax + 50 }, () => rule({}))
    const last = limits.conditionRulesMax - 1
    expect(problems({ type: 'and', rules })).toEqual([`c.rules.${last} condition_too_large`])
  })
  test('all problems at once', () => {
    const condition = { type: 'and', rules: [rule({ field: 'x' }), rule({ operator: 'y' }), {}] }
    expect(problems(condition)).toHaveLength(3)
  })
})

test('each scope has its own fields', () => {
  expect(problems(rule({ field: 'trigger.a' }), 'wait_filter')).toEqual([])
  for (const field of ['trigger.a', 'wait_events.paid.a', 'execution.step_count']) {
    expect(problems(rule({ field }), 'trigger_filter')).toEqual(['c.field unknown_field'])
  }
  const activity = { type: 'email_activity', node_id: 'any', status: 'sent' }
  expect(problems(activity, 'trigger_filter')).toEqual(['c unknown_field'])
  expect(problems(activity, 'segment')).toEqual(['c unknown_field'])
  expect(problems(rule({ field: 'event.a' }), 'segment')).toEqual(['c.field unknown_field'])
  expect(problems(rule({ field: 'properties.a' }), 'segment')).toEqual([])
})

test('takes any JSON', () => {
  const types = ['and', 'or', 'not', 'rule', 'event_count', 'email_activity', 'audience', 'segment']
  const node = fc.record(
    {
      type: fc.oneof(fc.constantFrom(...types), fc.jsonValue()),
      field: fc.jsonValue(),
      operator: fc.oneof(fc.constantFrom(...operators), fc.jsonValue()),
      value: fc.jsonValue(),
      rules: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  const inputs = fc.oneof(
    fc.jsonValue(),
    node,
    fc.record({ type: fc.constant('or'), rules: fc.array(node) }),
  )
  fc.assert(
    fc.property(inputs, (condition) => {
      expect(Array.isArray(validateCondition(condition, 'c', context))).toBe(true)
    }),
    { numRuns: 300 },
  )
})
