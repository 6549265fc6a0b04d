// The line for a connection: classes by weight, and what gives way when it is full.
import { expect, test } from 'vitest'
import { createLine } from '../../../mail/smtp/line.ts'
import type { MailClass } from '../../../rules/mail/classes.ts'

interface Item {
  class: MailClass
  n: number
  to?: string
}

const lineOf = (...items: Item[]) => {
  const line = createLine<Item>((item) => item.class)
  for (const item of items) line.push(item)
  return line
}
const many = (name: MailClass, count: number): Item[] =>
  Array.from({ length: count }, (_, n) => ({ class: name, n }))
const take = (line: ReturnType<typeof lineOf>, count: number) =>
  Array.from({ length: count }, () => line.next())
const counts = (items: (Item | null)[]) =>
  (['transactional', 'automation', 'broadcast'] as const).map(
    (name) => items.filter((item) => item?.class === name).length,
  )

test('while all wait, of ten six are transactional, three automation, one broadcast', () => {
  const line = lineOf(...many('broadcast', 100), ...many('automation', 100))
  for (const item of many('transactional', 100)) line.push(item)
  for (let round = 0; round < 5; round++) expect(counts(take(line, 10))).toEqual([6, 3, 1])
})

test('what a class does not use goes to the others, in the order of their coming', () => {
  const line = lineOf(...many('broadcast', 20))
  expect(take(line, 3).map((item) => item?.n)).toEqual([0, 1, 2])
  for (const item of many('automation', 20)) line.push(item)
  expect(counts(take(line, 8))).toEqual([0, 7, 1])
})

test('a class that was silent is next, and has saved up nothing', () => {
  const line = lineOf(...many('broadcast', 1_000))
  take(line, 500)
  for (const item of many('transactional', 100)) line.push(item)
  const next = take(line, 20)
  expect(next[0]?.class).toBe('transactional')
  expect(counts(next)[0]).toBeLessThanOrEqual(18)
  expect(counts(next)[2]).toBeGreaterThanOrEqual(2)
})

test('a full line: the last one of a lower class gives way, where that has more than its share', () => {
  const late: Item = { class: 'transactional', n: 99 }
  const line = lineOf(...many('broadcast', 2), ...many('automation', 1), late)
  expect(line.giveWay(late)).toEqual({ class: 'broadcast', n: 1 })
  expect(line.size()).toBe(3)
  const broadcast: Item = { class: 'broadcast', n: 7 }
  const other = lineOf(...many('transactional', 30), broadcast)
  expect(other.giveWay(broadcast)).toBeNull()
  const one: Item = { class: 'transactional', n: 50 }
  const balanced = lineOf(...many('transactional', 11), one, ...many('broadcast', 2))
  expect(balanced.giveWay(one)).toBeNull()
})

test('one that fits goes first, but passes over the others only so often', () => {
  const other: Item = { class: 'broadcast', n: -1, to: 'other' }
  const line = lineOf(other, ...many('broadcast', 50))
  const fits = (item: Item) => item.to === undefined
  const taken = Array.from({ length: 30 }, () => line.next(fits)).filter((item) => item !== null)
  expect(taken).toHaveLength(20)
  expect(line.next()).toBe(other)
  expect(line.next(fits)).toEqual({ class: 'broadcast', n: 20 })
})

test('what is put back is next of its class; what is removed does not come', () => {
  const [first, second, third] = many('automation', 3)
  if (!first || !second || !third) throw new Error('there are three')
  const line = lineOf(first, second, third)
  line.next()
  line.putBack(first)
  line.remove(second)
  expect(take(line, 3)).toEqual([first, third, null])
  expect(line.size()).toBe(0)
})

test('what has left the line cannot be removed from it', () => {
  const line = createLine<MailClass>((item) => item)
  line.push('broadcast')
  expect([line.remove('broadcast'), line.remove('broadcast')]).toEqual([true, false])
})
