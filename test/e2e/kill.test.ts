// kill -9 of API, worker and everything, under load at seeded moments: nothing lost, nothing twice. Longer: npm run soak.
import { expect, test } from 'vitest'
import { killUnderLoad } from '../setup/killing.ts'

const SEED = 20_261_121
const ROUNDS = 3

test('each process is killed once under load: every answered request took effect once', {
  timeout: 420_000,
}, async () => {
  const { faults, counts } = await killUnderLoad({
    seed: SEED,
    isOver: (round) => round >= ROUNDS,
    contactsMax: 60,
  })
  console.log('killed under load:', JSON.stringify(counts))
  expect(faults).toEqual([])
  expect(counts).toMatchObject({ kills: { api: 1, worker: 1, everything: 1 } })
})
