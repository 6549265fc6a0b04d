// A worker is killed in each phase of a segment and of a call, DESIGN_KILL_ROUNDS times (default 8), among executions of random designs.
// DESIGN_SEED repeats the choices of a run.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { killAmongDesigns, segmentKills } from '../setup/designKills.ts'
import { createHttpServer } from '../setup/httpServer.ts'

const rounds = Number(process.env['DESIGN_KILL_ROUNDS'] ?? 8)
const seed = Number(process.env['DESIGN_SEED'] ?? Date.now() % 1_000_000)
const database = await createTestDatabase()
const server = await createHttpServer()

test(`executions of random designs, DESIGN_SEED=${seed}`, async () => {
  const say = (line: string) => console.log(`designs: ${line}`)
  const kills = Array.from({ length: rounds }).flatMap(() => segmentKills)
  const options = { seed, kills, more: 20, say }
  const { faults, counts } = await killAmongDesigns(database, server, options)
  console.log('designs:', JSON.stringify({ seed, ...counts }))
  expect(faults).toEqual([])
})
