// What a lane knows of destinations: how much room they have, and how fast they accept mail.
import { expect, test } from 'vitest'
import { createRooms } from '../../../delivery/lane/rooms.ts'
import { createWaitingLines } from '../../../delivery/lane/waitingLines.ts'

test('rooms: what is under way counts, and half of a full room free again is told', () => {
  const allowed = { known: new Map([['a.test', 4]]), other: 10 }
  const rooms = createRooms(
    { rooms: () => allowed },
    { breakers: { passage: () => 'all' }, now: () => new Date(0) },
  )
  expect(rooms.left()).toEqual(allowed)
  for (let i = 0; i < 4; i++) rooms.began('a.test')
  rooms.began('b.test')
  expect(rooms.left()).toEqual({
    known: new Map([
      ['a.test', 0],
      ['b.test', 9],
    ]),
    other: 10,
  })
  rooms.wanted(['a.test', 'resting.test'])
  expect([rooms.ended('b.test'), rooms.ended('a.test'), rooms.ended('a.test')]).toEqual([
    false,
    false,
    true,
  ])
  expect(rooms.ended('a.test'), 'told once').toBe(false)
  expect(rooms.left().known.get('a.test')).toBe(3)
})

test('deliveries of a busy domain come back one after the other, as fast as the domain accepts mail', () => {
  const lines = createWaitingLines(() => 0.5)
  const waits = [1, 2, 3].map(() => lines.join('slow.test', 1_000, 0))
  expect(waits).toEqual([1_000, 1_020, 1_040])
  expect(lines.join('other.test', 1_500, 0), 'each domain has a line of its own').toBe(1_500)
  // The domain accepts one every 5 ms: the line moves up.
  for (let time = 0; time <= 500; time += 5) lines.took('slow.test', time)
  const first = lines.join('slow.test', 0, 500)
  const next = lines.join('slow.test', 0, 500)
  expect(next - first).toBeGreaterThanOrEqual(5)
  expect(next - first).toBeLessThanOrEqual(6)
})

test('nobody waits longer in a line than ten minutes, or than the destination asked for', () => {
  const lines = createWaitingLines(() => 0.5)
  const waits = Array.from({ length: 50_000 }, () => lines.join('huge.test', 1_000, 0))
  expect(Math.max(...waits)).toBeLessThanOrEqual(600_000)
  expect(waits.filter((wait_ms) => wait_ms === 300_500).length).toBeGreaterThan(1_000)
  expect(lines.join('resting.test', 3_600_000, 0)).toBe(3_600_000)
})
