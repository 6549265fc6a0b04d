// A worker is killed fifty times under load, or SOAK_ROUNDS times: no execution fails and no mail is given up.
import { expect, test } from 'vitest'
import { killUnderLoad } from '../setup/killing.ts'

const CONTACTS_PER_ROUND = 10
const rounds = Number(process.env['SOAK_ROUNDS'] ?? 50)
const seed = Number(process.env['SOAK_SEED'] ?? Date.now() % 1_000_000)

test(`workers are killed under load, SOAK_SEED=${seed}`, async () => {
  const { faults, counts } = await killUnderLoad({
    seed,
    isOver: (round) => round >= rounds,
    contactsMax: CONTACTS_PER_ROUND * rounds,
    targets: ['worker'],
  })
  console.log('soak:', JSON.stringify(counts, null, 2))
  expect(faults).toEqual([])
  expect(counts.kills.worker).toBe(rounds)
})
