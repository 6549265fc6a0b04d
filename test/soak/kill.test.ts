// Many rounds of kill -9 under load: about ten minutes, or SOAK_ROUNDS rounds. SOAK_SEED repeats the choices of a
// run.
import { expect, test } from 'vitest'
import { killUnderLoad } from '../setup/killing.ts'

const LIMIT_MS = 9 * 60 * 1000
const CONTACTS_PER_ROUND = 30

const given = process.env['SOAK_ROUNDS']
const rounds = given === undefined ? Number.POSITIVE_INFINITY : Number(given)
const seed = Number(process.env['SOAK_SEED'] ?? Date.now() % 1_000_000)

test(`kill -9 under load, SOAK_SEED=${seed}`, async () => {
  const endsAt = Date.now() + LIMIT_MS
  const { faults, counts } = await killUnderLoad({
    seed,
    isOver: (round) => round >= rounds || (given === undefined && Date.now() > endsAt),
    contactsMax: CONTACTS_PER_ROUND * Math.min(rounds, 60),
  })
  console.log('soak:', JSON.stringify(counts, null, 2))
  expect(faults).toEqual([])
  const { api, worker, everything } = counts.kills
  expect(api + worker + everything).toBeGreaterThan(0)
})
