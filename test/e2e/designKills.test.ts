// A worker that is killed in each phase of a segment and of a call: its executions do what the pure interpreter says, each effect once.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { killAmongDesigns, segmentKills } from '../setup/designKills.ts'
import { createHttpServer } from '../setup/httpServer.ts'

const SEED = 20_261_123
const database = await createTestDatabase()
const server = await createHttpServer()

test('killed once in each phase', { timeout: 480_000 }, async () => {
  const options = { seed: SEED, kills: segmentKills, more: 20 }
  const { faults, counts } = await killAmongDesigns(database, server, options)
  console.log('killed among designs:', JSON.stringify(counts))
  expect(faults).toEqual([])
  expect(counts.calls).toBeGreaterThan(0)
})
