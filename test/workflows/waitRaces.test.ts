// An event comes at the very moment at which the wait for it runs out of time: one of the two ends it, once. Longer: npm run soak.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { raceCommits, raceTimers } from '../setup/waitRaces.ts'

const SEED = 20_261_123
const database = await createTestDatabase()
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database)
})
afterAll(() => engine?.stop())

test('200 times as transactions', async () => {
  await engine.stopStarter()
  try {
    const { faults, counts } = await raceCommits(engine, { rounds: 200, seed: SEED })
    expect(faults).toEqual([])
    // Both have won, or it was no race.
    expect(Math.min(counts.received, counts.timeout)).toBeGreaterThan(0)
  } finally {
    engine.startStarter()
  }
})

test('ten times through Temporal', async () => {
  const { faults, counts } = await raceTimers(engine, { rounds: 10, seed: SEED })
  expect(faults).toEqual([])
  expect(counts.received + counts.timeout).toBe(10)
})
