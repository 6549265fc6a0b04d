// How often Temporal is asked, and what is logged, while it does not answer.
import { expect, test } from 'vitest'
import { createLog } from '../../../runtime/log.ts'
import { createOutage } from '../../../worker/outage.ts'

const create = () => {
  const lines: string[] = []
  const clock = { time: 0 }
  const log = createLog('starter', 'info', { write: (line) => void lines.push(line) })
  const outage = createOutage({ log, now: () => new Date(clock.time) })
  const told = () => lines.splice(0).map((line) => JSON.parse(line))
  return { outage, clock, told }
}

test('pauses grow up to 30 seconds, and end with the first answer', () => {
  const { outage } = create()
  const pauses_ms = Array.from({ length: 7 }, () => {
    outage.away(new Error('away'), 64, true)
    return outage.pause_ms()
  })
  expect(pauses_ms).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  outage.answered()
  expect(outage.pause_ms()).toBe(0)
})

test('a row alone makes no pause', () => {
  const { outage } = create()
  outage.away(new Error('away'), 1, false)
  expect(outage.pause_ms()).toBe(0)
})

test('it is logged at its begin, once a minute, and at its end', () => {
  const { outage, clock, told } = create()
  for (clock.time = 0; clock.time <= 61_000; clock.time += 1_000)
    outage.away(new Error('away'), 2, true)
  const msg = 'Temporal could not be asked; trying again'
  expect(told()).toMatchObject([
    { msg, count: 2 },
    { msg, count: 120 },
  ])
  outage.answered()
  outage.answered()
  expect(told()).toMatchObject([{ msg: 'Temporal answers again' }])
  outage.away(new Error('away'), 2, true)
  expect(told()).toHaveLength(1)
})
