// The condition that a wait stores: match rows are resolved, and parts that cannot change are evaluated.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { evaluate } from '../../../rules/conditions/evaluate.ts'
import type { Condition } from '../../../rules/conditions/types.ts'
import { resolveMatch } from '../../../rules/conditions/waitFilter.ts'
import { factsOf } from './builders.ts'

const waiting = factsOf({
  event: { order: { id: 7 }, tier: 'gold' },
  waitEvents: { paid: { total: 5 } },
  execution: { step_count: 3 },
})
const never: Condition = { type: 'or', rules: [] }
const rule = (field: string, value: string | number): Condition => ({
  type: 'rule',
  field,
  operator: 'eq',
  value,
})

describe('match rows', () => {
  test('without rows and filter any event matches', () => {
    expect(resolveMatch({}, waiting)).toBeNull()
    expect(resolveMatch({ match: [] }, waiting)).toBeNull()
  })
  test.each([
    ['order.id', 'event.order.id', 7],
    ['event.order.id', 'trigger.order.id', 7],
    ['email', 'contact.email', 'ada@example.test'],
    ['total', 'wait_events.paid.total', 5],
    ['steps', 'execution.step_count', 3],
  ])('%s equals %s', (event_path, equals_path, value) => {
    const field = event_path.startsWith('event.') ? event_path : `event.${event_path}`
    expect(resolveMatch({ match: [{ event_path, equals_path }] }, waiting)).toEqual(
      rule(field, value),
    )
  })
  test.each(['event.none', 'properties.x', 'wait_events.none.x'])(
    '%s is missing: no event matches',
    (path) => {
      const filter = resolveMatch({ match: [{ event_path: 'x', equals_path: path }] }, waiting)
      expect(filter).toEqual(never)
      expect(filter && evaluate(filter, factsOf())).toBe(false)
    },
  )
  test('all rows and the filter must be true', () => {
    const filter = resolveMatch(
      {
        filter: rule('event.status', 'paid'),
        match: [
          { event_path: 'id', equals_path: 'event.order.id' },
          { event_path: 'tier', equals_path: 'event.tier' },
        ],
      },
      waiting,
    )
    const arrives = (event: Record<string, string | number>): boolean =>
      filter !== null && evaluate(filter, factsOf({ event }))
    expect(arrives({ status: 'paid', id: 7, tier: 'gold' })).toBe(true)
    expect(arrives({ status: 'open', id: 7, tier: 'gold' })).toBe(false)
    expect(arrives({ status: 'paid', id: '7', tier: 'gold' })).toBe(false)
    expect(arrives({ status: 'paid', id: 7 })).toBe(false)
  })
})

describe('parts that cannot change during the wait', () => {
  const open = rule('event.status', 'paid')
  const yes = rule('trigger.tier', 'gold')
  const no = rule('trigger.tier', 'lead')
  test.each<[string, Condition, Condition | null]>([
    ['true', yes, null],
    ['false', no, never],
    ['an open rule', open, open],
    ['and drops what is true', { type: 'and', rules: [yes, open] }, open],
    ['and falls with what is false', { type: 'and', rules: [open, no] }, never],
    ['or drops what is false', { type: 'or', rules: [no, open] }, open],
    ['or stands with what is true', { type: 'or', rules: [open, yes] }, null],
    ['not of true', { type: 'not', rules: [yes] }, never],
    ['not of false', { type: 'not', rules: [no] }, null],
    [
      'not of an open rule',
      { type: 'not', rules: [{ type: 'and', rules: [open, yes] }] },
      { type: 'not', rules: [open] },
    ],
    ['wait events', rule('wait_events.paid.total', 5), null],
    ['step count', rule('execution.step_count', 4), never],
    ['the contact may change', rule('properties.plan', 'pro'), rule('properties.plan', 'pro')],
  ])('%s', (_name, filter, expected) => {
    expect(resolveMatch({ filter }, waiting)).toEqual(expected)
  })
  test('are evaluated, except a span, which is measured when the event arrives', () => {
    const filter: Condition = {
      type: 'rule',
      field: 'trigger.at',
      operator: 'older_than',
      value: 'P1D',
    }
    expect(resolveMatch({ filter }, waiting)).toEqual(filter)
  })
})

test('the stored condition has the same result as the filter with the trigger', () => {
  const leaf = fc
    .record({
      field: fc.constantFrom('event.a', 'event.b', 'trigger.a', 'wait_events.w.a', 'properties.a'),
      operator: fc.constantFrom('eq' as const, 'neq' as const, 'exists' as const),
      value: fc.constantFrom(1, 2),
    })
    .map((fields): Condition => ({ type: 'rule', ...fields }))
  const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      leaf,
      fc.record({
        type: fc.constantFrom('and' as const, 'or' as const, 'not' as const),
        rules: fc.array(tie('condition'), { minLength: 1, maxLength: 3 }),
      }),
    ),
  }))
  const values = fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom(1, 2))
  fc.assert(
    fc.property(condition, values, values, values, (filter, triggering, arriving, waited) => {
      const waitEvents = { w: waited }
      const stored = resolveMatch({ filter }, factsOf({ event: triggering, waitEvents }))
      const plain = evaluate(filter, factsOf({ event: arriving, trigger: triggering, waitEvents }))
      expect(stored === null || evaluate(stored, factsOf({ event: arriving }))).toBe(plain)
    }),
    { numRuns: 500 },
  )
})
