// Splits: shares that follow the weights, draws that never change, and draws at two nodes that know nothing of each other.
import { expect, test } from 'vitest'
import type { SegmentFacts } from '../../../rules/interpreterTypes.ts'
import { drawnVariant } from '../../../rules/nodes/split.ts'
import { factsOf } from './builders.ts'
import { runOne } from './runners.ts'

const IDS = 100_000
/** 1 % of all ids. */
const TOLERANCE = 0.01

type Variants = { id: string; weight: number }[]

/** The share of each variant among so many keys. */
function sharesOf(variants: Variants, keyOf: (i: number) => string): number[] {
  const counts = new Map<string, number>()
  for (let i = 0; i < IDS; i++) {
    const id = drawnVariant(variants, { workflowId: 'wf_1', nodeId: 'n', key: keyOf(i) })
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return variants.map(({ id }) => (counts.get(id) ?? 0) / IDS)
}

const weights = (...given: number[]): Variants =>
  given.map((weight, i) => ({ id: `v${i}`, weight }))

const keys: [string, (i: number) => string][] = [
  ['addresses that count', (i) => `reader${i}@example.com`],
  ['addresses that differ at the end', (i) => `a@b.example${i}`],
  ['ids of executions', (i) => `exe_${(i * 2_654_435_761).toString(36).padStart(16, '0')}`],
]

test.each(keys)('%s are split by weight, within 1 %%', (_name, keyOf) => {
  for (const given of [[1, 1], [50, 30, 20], [0.2, 0.3], [9, 1], Array(10).fill(7)] as number[][]) {
    const sum = given.reduce((total, weight) => total + weight, 0)
    const off = sharesOf(weights(...given), keyOf).map((share, i) =>
      Math.abs(share - (given[i] ?? 0) / sum),
    )
    expect(Math.max(...off), given.join()).toBeLessThan(TOLERANCE)
  }
})

test('the largest and the smallest weights are weights', () => {
  const [keyOf] = keys.map(([, key]) => key)
  if (!keyOf) throw new Error('no keys')
  const [a, b] = sharesOf(weights(1e308, 1e308), keyOf)
  expect(Math.abs((a ?? 0) - (b ?? 0))).toBeLessThan(2 * TOLERANCE)
  expect(sharesOf(weights(5e-324, 1e308), keyOf)).toEqual([0, 1])
  expect(sharesOf(weights(5e-324), keyOf)).toEqual([1])
})

/** The first two pairs agree for nine keys in ten by FNV-1a alone. */
test.each<[string, [string, string], [string, string], (i: number) => string]>([
  ['nodes q and n7', ['wf_1', 'q'], ['wf_1', 'n7'], (i) => `u${i}`],
  ['nodes b and split2', ['wf_1', 'b'], ['wf_1', 'split2'], (i) => `a@b.example${i}`],
  ['two workflows', ['wf_1', 'a'], ['wf_2', 'a'], (i) => `reader${i}@example.com`],
])('the draws of a contact at %s are independent', (_name, one, other, keyOf) => {
  const two = weights(1, 1)
  const at = ([workflowId, nodeId]: [string, string], key: string) =>
    drawnVariant(two, { workflowId, nodeId, key })
  let same = 0
  for (let i = 0; i < IDS; i++) if (at(one, keyOf(i)) === at(other, keyOf(i))) same++
  expect(Math.abs(same / IDS - 0.5)).toBeLessThan(TOLERANCE)
})

/** These may never change: contacts would change sides in the middle of a test. */
test.each([
  ['ada@example.com', 'wf_1', 'n', 'a'],
  ['bob@example.com', 'wf_1', 'n', 'b'],
  ['carol@example.com', 'wf_1', 'n', 'e'],
  ['ada@example.com', 'wf_1', 'm', 'f'],
  ['ada@example.com', 'wf_01jd8x', 'n', 'a'],
  ['exe_1', 'wf_1', 'n', 'b'],
  ['zoë@exämple.test', 'wf_1', 'n', 'g'],
  ['', '', '', 'd'],
])('%s in %s at %s draws %s for ever', (key, workflowId, nodeId, expected) => {
  const letters = [...'abcdefgh'].map((id) => ({ id, weight: 1 }))
  expect(drawnVariant(letters, { workflowId, nodeId, key })).toBe(expected)
})

const variants = [...'abcdefgh'].map((id) => ({ id, weight: 1 }))
const ways = variants.map(({ id }) => id)
const went = (data: object, facts: SegmentFacts) =>
  runOne({ id: 'n', type: 'split', data: { variants, ...data } }, ways, facts).steps[1]

test('the same address goes the same way, in every execution and however it is written', () => {
  const contact = { email: 'ada@example.com', first_seen: 0, properties: {} }
  const first = went({}, { ...factsOf({ contact }), workflowId: 'wf_1', executionId: 'exe_1' })
  const step = { nodeId: 'n', type: 'split', why: null }
  expect(first).toEqual({ ...step, handle: 'a' })
  for (const email of ['ada@example.com', 'Ada@Example.COM']) {
    const other = {
      ...factsOf({ contact: { ...contact, email } }),
      workflowId: 'wf_1',
      executionId: 'exe_2',
    }
    expect(went({ sticky: 'contact' }, other)).toEqual(first)
  }
})

test('each execution draws for itself where it is said so', () => {
  const handleIn = (executionId: string) =>
    went({ sticky: 'execution' }, { ...factsOf(), workflowId: 'wf_1', executionId })?.handle
  const taken = Array.from({ length: 100 }, (_, i) => handleIn(`exe_${i}`))
  expect(new Set(taken).size).toBe(variants.length)
  expect(handleIn('exe_1')).toBe('b')
})
