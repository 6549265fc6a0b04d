// Searches of conditions in texts and lists: the same answers as the engine's, and none that keeps it busy.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { evaluate } from '../../../rules/conditions/evaluate.ts'
import { nextTurn } from '../../../rules/conditions/turns.ts'
import { holdsText, replaceText } from '../../../rules/search.ts'
import { now, withProperties } from './builders.ts'

/** It takes some ms for each rule; a search that compares each with each took a second and more for each. */
const HUNG_MS = 60_000

describe('long texts of few characters', () => {
  const word = (minLength: number, maxLength: number) =>
    fc.string({ unit: fc.constantFrom('a', 'b'), minLength, maxLength })

  test('are found as the engine finds them', () => {
    const drawn = fc.tuple(word(1, 6), word(1, 6), word(0, 4), fc.nat(3_000))
    fc.assert(
      fc.property(drawn, ([one, other, end, skipped]) => {
        const text = one.repeat(700) + other.repeat(700) + end
        const long = text.slice(skipped, skipped + 2_000)
        for (const part of [long, `${long}b`, `a${long}`, one.repeat(690) + end, one.repeat(300)]) {
          expect(holdsText(text, part)).toBe(text.includes(part))
          expect(replaceText(text, part, '$&')).toBe(text.replaceAll(part, () => '$&'))
        }
      }),
    )
  })

  test('at their ends, as a whole, and one longer than the text', () => {
    const text = `${'a'.repeat(2_000)}b`
    expect(holdsText(text, text)).toBe(true)
    expect(holdsText(text, text.slice(1))).toBe(true)
    expect(holdsText(text, text.slice(0, -1))).toBe(true)
    expect(holdsText(text, `a${text}`)).toBe(false)
    expect(holdsText('', 'a'.repeat(2_000))).toBe(false)
    expect(holdsText(text, '')).toBe(true)
  })
})

test(
  'a condition over a text of one repeated character is decided at once',
  () => {
    const facts = withProperties({ x: 'a'.repeat(250_000) })
    const rules = Array.from({ length: 60 }, (_, i) => ({
      type: 'rule' as const,
      field: 'properties.x',
      operator: 'contains' as const,
      value: `${'a'.repeat(10_000 + i)}b${'a'.repeat(10_000)}`,
    }))
    expect(evaluate({ type: 'or', rules }, facts)).toBe(false)
  },
  HUNG_MS,
)

test(
  'a condition over a long list and a long list of values is decided at once',
  () => {
    const facts = withProperties({ x: Array.from({ length: 120_000 }, () => 1) })
    const rules = Array.from({ length: 100 }, (_, i) => ({
      type: 'rule' as const,
      field: 'properties.x[]',
      operator: 'in' as const,
      value: Array.from({ length: 1_000 }, (_, n) => n + i + 2),
    }))
    expect(evaluate({ type: 'or', rules }, facts)).toBe(false)
  },
  HUNG_MS,
)

test(
  'when rules over a long list of dates turn is found at once',
  () => {
    const from = now - 60_000
    const facts = {
      ...withProperties({ x: Array.from({ length: 19_000 }, (_, i) => from + i) }),
      now,
    }
    const rules = Array.from({ length: 20 }, () => ({
      type: 'rule' as const,
      field: 'properties.x[]',
      operator: 'older_than' as const,
      value: 'P1D',
    }))
    const isNeverSo = { type: 'rule' as const, field: 'properties.z', operator: 'exists' as const }
    const turn = nextTurn([{ type: 'and', rules: [{ type: 'or', rules }, isNeverSo] }], facts)
    expect(turn).toBeGreaterThan(now)
  },
  HUNG_MS,
)
