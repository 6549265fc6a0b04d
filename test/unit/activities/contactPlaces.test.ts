// The places of segments by their contacts: how many are inside, and how many wait.
import { expect, test } from 'vitest'
import { createContactPlaces } from '../../../activities/segment/contactPlaces.ts'

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
