// How a lane divides its places: no workspace fills a claim alone.
import { expect, test } from 'vitest'
import type { Walked } from '../../../db/deliveries/lines.ts'
import { createLines } from '../../../delivery/lane/lines.ts'
import { createRooms } from '../../../delivery/lane/rooms.ts'
import { createWaitingLines } from '../../../delivery/lane/waitingLines.ts'

const nobody: Walked = { class: 0, after: '', taken: 0, turns: [], lines: 1, cut: false, full: [] }
const place = { shard: 9, destination: 'a.test' }
const turnOf = (workspace_id: string) => ({ workspace_id, place })

test('a workspace that uses up its turn gets a longer one while the others leave room', () => {
  const lines = createLines({ from: 0, to: 64 })
  const limit = 300
  const one = (taken: number): Walked => ({ ...nobody, taken, turns: [turnOf('ws_1')], cut: true })
  const seen: number[] = []
  for (let claim = 0; claim < 6; claim++) {
    const { turn } = lines.next(limit)
    seen.push(turn)
    expect(lines.learn([one(turn)], turn, limit), 'more is due').toBe(true)
  }
  expect(seen).toEqual([20, 40, 80, 160, 299, 299])
  const two = { ...one(300), turns: [turnOf('ws_1'), turnOf('ws_2')] }
  expect(lines.learn([two], limit, limit)).toBe(true)
  expect(lines.next(limit).turn, 'another wants places too').toBe(150)
  lines.learn([{ ...one(3), cut: false }], 3, limit)
  expect(lines.next(limit).turn).toBe(20)
})

test('a lane walks in laps, and rests after one that found nothing', () => {
  const lines = createLines({ from: 8, to: 12 })
  expect(lines.next(100).after).toEqual(['', '', ''])
  expect(lines.learn([{ ...nobody, class: 2, after: 'ws_5', taken: 100 }], 100, 100)).toBe(true)
  expect(lines.next(100).after).toEqual(['', '', 'ws_5'])
  expect(lines.learn([{ ...nobody, class: 2 }], 0, 100), 'it began behind the first').toBe(true)
  expect(lines.next(100).after).toEqual(['', '', ''])
  expect(lines.learn([{ ...nobody, class: 2 }], 0, 100)).toBe(false)
})

test('a workspace goes on behind its last line, and comes back to its first one', () => {
  const lines = createLines({ from: 8, to: 12 })
  const places = () => lines.next(100).places?.map((of) => [...of])
  expect(lines.learn([{ ...nobody, class: 1, taken: 20, turns: [turnOf('ws_1')] }], 20, 100)).toBe(
    true,
  )
  expect(places()).toEqual([[], [['ws_1', place]], []])
  const ended = { ...nobody, class: 1, turns: [{ workspace_id: 'ws_1', place: null }] }
  expect(lines.learn([ended], 0, 100), 'its first lines were not looked at').toBe(true)
  expect(places()).toEqual([[], [], []])
  expect(lines.learn([ended], 0, 100)).toBe(false)
})

test('workspaces that have nothing left keep no place from others', () => {
  const lines = createLines({ from: 0, to: 64 })
  const claim = (names: string[]) =>
    lines.learn([{ ...nobody, class: 0, taken: 1, turns: names.map(turnOf) }], 1, 100)
  claim(Array.from({ length: 500 }, (_, i) => `ws_gone_${i}`))
  claim(['ws_new'])
  claim(['ws_new'])
  expect([...(lines.next(100).places?.[0]?.keys() ?? [])]).toEqual(['ws_new'])
})

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
