// Failing servers and killed workers together, with both settings for unknown outcomes. Longer: npm run soak.
import { expect, test } from 'vitest'
import { failAndKill } from '../setup/faultRounds.ts'

const SEED = Number(process.env['FAULT_SEED'] ?? 20_261_121)

test.each([true, false])(
  'RESEND_UNKNOWN=%s: nothing lost or doubled beyond it',
  {
    timeout: 300_000,
  },
  async (resend) => {
    const { faults, counts } = await failAndKill({ seed: SEED, resend, mails: 40, kills: 2 })
    console.log('faults:', JSON.stringify(counts))
    expect(faults, `FAULT_SEED=${SEED}`).toEqual([])
    // A run without unknown outcomes or without refusals would prove little.
    expect(counts.bounced).toBeGreaterThan(0)
    expect(resend ? counts.resent : counts.unknown).toBeGreaterThan(0)
  },
)
