// The places of segments by their contacts: how many wait, and how late those come again that find none.
import { expect, test } from 'vitest'
import { createContactPlaces } from '../../../activities/segment/contactPlaces.ts'
import { pause_ms } from '../../../activities/segment/places.ts'

test('two of a contact are inside, five more wait, and ten of all contacts', async () => {
  const places = createContactPlaces()
  const inside = await Promise.all(['a', 'a', 'b', 'b', 'c', 'c'].map((key) => places.take(key)))
  expect(inside.every((place) => place !== null)).toBe(true)
  const waiting = ['a', 'b'].flatMap((key) => Array.from({ length: 5 }, () => places.take(key)))
  expect([places.isFull('a'), places.isFull('b'), places.isFull('c')]).toEqual([true, true, true])
  expect(await places.take('c')).toBeNull()
  const [first] = inside
  first?.()
  // One who waited is inside now, so another one may wait.
  const came = await waiting[0]
  expect(came).not.toBeNull()
  expect(places.isFull('c')).toBe(false)
  for (const giveBack of [...inside.slice(1), came]) giveBack?.()
  for (const one of waiting.slice(1)) (await one)?.()
  expect(places.isFull('a')).toBe(false)
})

test('who finds none again and again comes ever later, two minutes at most', () => {
  const pauses = [1, 10, 11, 12, 15, 16, 17, 400].map((attempt) => pause_ms(2_000, attempt))
  expect(pauses).toEqual([2_000, 2_000, 4_000, 8_000, 64_000, 120_000, 120_000, 120_000])
  // The line of a crowd may be longer than that.
  expect(pause_ms(150_000, 1)).toBe(150_000)
})
