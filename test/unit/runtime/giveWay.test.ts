// Long work shares the event loop: alone it goes on at once, beside others it rests, and all of it together rests once.
import { expect, test } from 'vitest'
import { MEBIBYTE } from '../../../rules/limits.ts'
import { createGiveWay } from '../../../runtime/giveWay.ts'

const PIECE_MS = 4

const piece = (took_ms: number, bytes = 40_000_000) => ({ took_ms, bytes, part: 1 / 4 })

/** A process in which others take so much of each turn, and jobs that work in pieces. @returns what the jobs took, and the clock */
async function run(others_ms: number, { jobs, pieces }: { jobs: number; pieces: number }) {
  let clock = 0
  const waiting: { until: number; go: () => void }[] = []
  const wait = (until: number) => new Promise<void>((go) => waiting.push({ until, go }))
  const { giveWay } = createGiveWay({
    now: () => clock,
    turn: () => wait(0),
    pause: (ms) => wait(clock + ms),
  })
  let underWay = jobs
  const job = async () => {
    for (let i = 0; i < pieces; i++) {
      clock += PIECE_MS
      await giveWay(piece(PIECE_MS))
    }
    underWay -= 1
  }
  for (let i = 0; i < jobs; i++) void job()
  while (underWay > 0) {
    clock += others_ms
    const due = waiting.filter(({ until }) => until <= clock)
    if (due.length === 0) clock = Math.min(...waiting.map(({ until }) => until))
    for (const one of due) {
      waiting.splice(waiting.indexOf(one), 1)
      one.go()
      for (let i = 0; i < 10; i++) await Promise.resolve()
    }
  }
  return { worked_ms: jobs * pieces * PIECE_MS, clock }
}

test.each([1, 3])('%i alone get all of the time', async (jobs) => {
  const { worked_ms, clock } = await run(0, { jobs, pieces: 20 })
  expect(clock).toBe(worked_ms)
})

test.each([1, 3, 8])('%i beside others get a quarter of the time at most', async (jobs) => {
  const { worked_ms, clock } = await run(2, { jobs, pieces: 20 })
  expect(worked_ms / clock).toBeLessThanOrEqual(0.25)
  expect(worked_ms / clock).toBeGreaterThan(0.15)
})

/** A process in which others always take 50 ms of a turn. */
function busy() {
  const paused: number[] = []
  let clock = 10_000
  const { giveWay, hurry } = createGiveWay({
    now: () => clock,
    turn: async () => {
      clock += 50
    },
    pause: async (ms) => {
      paused.push(ms)
    },
  })
  return { giveWay, hurry, paused }
}

test('a piece that was interrupted for long does not rest for as long again', async () => {
  const { giveWay, paused } = busy()
  await giveWay(piece(5_000))
  expect(paused).toEqual([100])
})

test('nothing rests while somebody waits for it to be done', async () => {
  const { giveWay, hurry, paused } = busy()
  const [endFirst, endSecond] = [hurry(), hurry()]
  await giveWay(piece(10))
  endFirst()
  await giveWay(piece(10))
  expect(paused).toEqual([])
  endSecond()
  await giveWay(piece(10))
  expect(paused).toHaveLength(1)
})

test('work on 8 MiB and less only lets others have their turn', async () => {
  const { giveWay, paused } = busy()
  await giveWay(piece(10, 8 * MEBIBYTE))
  expect(paused).toEqual([])
  await giveWay(piece(10, 8 * MEBIBYTE + 1))
  expect(paused).toHaveLength(1)
})
