// Many rounds of failing servers and killed workers: FAULT_ROUNDS of them (default 6). FAULT_SEED sets the seed of
// the first.
import { expect, test } from 'vitest'
import { failAndKill } from '../setup/faultRounds.ts'

const rounds = Number(process.env['FAULT_ROUNDS'] ?? 6)
const seed = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000)

test.each(
  Array.from({ length: rounds }, (_, round) => ({ seed: seed + round, resend: round % 2 === 0 })),
)('FAULT_SEED=$seed, RESEND_UNKNOWN=$resend', async (round) => {
  const { faults, counts } = await failAndKill({ ...round, mails: 150, kills: 6 })
  console.log('faults:', JSON.stringify(counts))
  expect(faults, `FAULT_SEED=${round.seed}`).toEqual([])
})
