// A worker dies at each point of a delivery: nothing is lost, and what is sent twice is accounted for. Longer: npm run soak.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Kill, killPoints } from '../setup/deliveryKiller.ts'
import { killAtPoints } from '../setup/pointKills.ts'

const SEED = 20_261_123
const database = await createTestDatabase()

test('kill -9 at every point of a delivery, to a relay and directly', {
  timeout: 600_000,
}, async () => {
  const kills: Kill[] = [
    ...killPoints.map((at) => ({ mode: 'relay', at }) as const),
    ...(['marked', 'dot', 'settle'] as const).map((at) => ({ mode: 'mx', at }) as const),
  ]
  const { faults, counts } = await killAtPoints(database, { seed: SEED, kills, resend: true })
  console.log('killed at points:', JSON.stringify(counts))
  expect(faults).toEqual([])
  // Without unknown outcomes of both kinds, and without people who left, it would prove little.
  expect(counts.resent).toBeGreaterThan(0)
  expect(counts.gone).toBeGreaterThan(0)
})
