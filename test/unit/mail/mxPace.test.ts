// The pace of a destination: grows by one, halves once for each push-back, rests longer each time, recovers.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Pace,
  type PaceEvent,
  paceAfter,
  paceEventOf,
  startPace,
} from '../../../mail/smtp/pace.ts'

const after = (pace: Pace, events: PaceEvent[], now = 0) =>
  events.reduce((before, event) => paceAfter(before, event, now), pace)
const times = (count: number, event: PaceEvent) => Array<PaceEvent>(count).fill(event)
const rejected = (code: number, enhanced: string | null = null) =>
  ({ kind: 'rejected', phase: 'rcpt', code, enhanced, reply: `${code}` }) as const

test('one more connection for each round of deliveries, up to the maximum', () => {
  const start = startPace(10)
  expect(start.limit).toBe(5)
  expect(after(start, times(4, 'delivered')).limit).toBe(5)
  expect(after(start, times(5, 'delivered')).limit).toBe(6)
  expect(after(start, times(5 + 6, 'delivered')).limit).toBe(7)
  expect(after(start, times(1000, 'delivered')).limit).toBe(10)
  expect(startPace(2).limit).toBe(2)
})

test('a push-back halves the limit once, on however many connections it arrives', () => {
  const start = after(startPace(10), times(100, 'delivered'))
  const storm = after(start, times(10, 'pushed_back'), 5_000)
  expect(storm.limit).toBe(5)
  expect(after(storm, times(10, 'pushed_back'), 7_001).limit).toBe(2)
})

test('no growth in the minute after a push-back', () => {
  const storm = after(after(startPace(10), times(100, 'delivered')), ['pushed_back'], 5_000)
  expect(after(storm, times(100, 'delivered'), 64_999).limit).toBe(5)
  expect(after(storm, times(5, 'delivered'), 65_000).limit).toBe(6)
})

test('five deferrals in a row are a push-back; with a delivery between them they are not', () => {
  const start = startPace(10)
  expect(after(start, times(4, 'deferred')).limit).toBe(5)
  expect(after(start, times(5, 'deferred')).limit).toBe(2)
  expect(after(start, [...times(4, 'deferred'), 'delivered', ...times(4, 'deferred')]).limit).toBe(
    5,
  )
})

test('a server that takes three connections gets three', () => {
  const grown = after(startPace(10), times(100, 'delivered'))
  expect(paceAfter(grown, { kind: 'refused', connected: 3 }, 0).limit).toBe(3)
  expect(paceAfter(startPace(2), { kind: 'refused', connected: 8 }, 0).limit).toBe(2)
})

test('an unreachable destination rests longer each time, until a message is delivered', () => {
  let pace = startPace(10)
  const rests: number[] = []
  for (let now = 1, round = 0; round < 7; round++, now = pace.restUntil) {
    pace = after(pace, times(5, 'unreachable'), now)
    rests.push(pace.restUntil - now)
    expect(pace.limit).toBe(1)
  }
  expect(rests).toEqual([30, 60, 120, 240, 480, 600, 600].map((seconds) => seconds * 1000))
  const back = after(pace, ['delivered'], pace.restUntil)
  expect(back).toMatchObject({ rests: 0, limit: 2 })
  expect(after(back, times(2 + 3, 'delivered'), pace.restUntil).limit).toBe(4)
})

test('a destination that pushes back on its only connection rests', () => {
  const one = startPace(1)
  expect(after(one, ['pushed_back'], 1)).toMatchObject({ rests: 1, restUntil: 30_001 })
})

test('at all times between one and the maximum', () => {
  const event = fc.oneof(
    fc.constantFrom<PaceEvent>('delivered', 'deferred', 'pushed_back', 'unreachable'),
    fc.record({ kind: fc.constant('refused' as const), connected: fc.nat(20) }),
  )
  const step = fc.record({ event, wait_ms: fc.nat(100_000) })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(step), (max, steps) => {
      let now = 1
      let pace = startPace(max)
      for (const { event: heard, wait_ms } of steps) {
        now += wait_ms
        pace = paceAfter(pace, heard, now)
        expect(pace.limit).toBeGreaterThanOrEqual(1)
        expect(pace.limit).toBeLessThanOrEqual(max)
        expect(pace.restUntil).toBeLessThanOrEqual(now + 600_000)
      }
    }),
  )
})

test('which outcomes change the pace', () => {
  expect(paceEventOf({ kind: 'delivered', reply: '250 ok' })).toBe('delivered')
  expect(paceEventOf(rejected(421))).toBe('pushed_back')
  expect(paceEventOf(rejected(451, '4.7.1'))).toBe('deferred')
  expect(paceEventOf(rejected(450))).toBe('deferred')
  expect(paceEventOf({ kind: 'failed', phase: 'mail', error: 'reset' })).toBe('deferred')
  expect(paceEventOf({ kind: 'ambiguous', error: 'reset' })).toBe('deferred')
  // Before the dot the database may have failed.
  expect(paceEventOf({ kind: 'failed', phase: 'body', error: 'no database' })).toBeNull()
  // A full mailbox or an unknown address says nothing about other recipients.
  expect(paceEventOf(rejected(452, '4.2.2'))).toBeNull()
  expect(paceEventOf(rejected(450, '4.1.1'))).toBeNull()
  expect(paceEventOf(rejected(550, '5.1.1'))).toBeNull()
  expect(paceEventOf({ kind: 'lost_lease' })).toBeNull()
})
