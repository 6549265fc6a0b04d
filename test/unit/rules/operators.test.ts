// Every operator against a present, a missing and a wrongly typed field.
import { describe, expect, test } from 'vitest'
import { evaluate } from '../../../rules/conditions/evaluate.ts'
import { type Condition, type Operator, operators } from '../../../rules/conditions/types.ts'
import type { Json } from '../../../rules/json.ts'
import { factsOf, now, withProperties } from './builders.ts'

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
  test('every operator is in the table with true and with false', () => {
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
  test('opposite operators have opposite results, also with ci', () => {
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
