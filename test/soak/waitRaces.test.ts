// An event and the timeout of the wait for it at the same instant: RACES times as transactions (default 10,000), and TIMER_RACES times
// through Temporal (default 200). RACE_SEED repeats the choices of a run.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { raceCommits, raceTimers } from '../setup/waitRaces.ts'

const races = Number(process.env['RACES'] ?? 10_000)
const timerRaces = Number(process.env['TIMER_RACES'] ?? 200)
const seed = Number(process.env['RACE_SEED'] ?? Date.now() % 1_000_000)
const database = await createTestDatabase()
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database)
})
afterAll(() => engine?.stop())

test(`through Temporal, RACE_SEED=${seed}`, async () => {
  const { faults, counts } = await raceTimers(engine, { rounds: timerRaces, seed })
  console.log('races of timers:', JSON.stringify({ seed, ...counts }))
  expect(faults).toEqual([])
})

test(`as transactions, RACE_SEED=${seed}`, async () => {
  await engine.stopStarter()
  const { faults, counts } = await raceCommits(engine, { rounds: races, seed })
  console.log('races of commits:', JSON.stringify({ seed, ...counts }))
  expect(faults).toEqual([])
  expect(Math.min(counts.received, counts.timeout)).toBeGreaterThan(0)
})
