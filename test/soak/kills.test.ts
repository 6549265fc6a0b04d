// A worker is killed at every point of a delivery, KILL_POINT_ROUNDS times (default 5) to a relay and directly, and at
// KILL_ROUNDS random moments (default 200), a quarter without resending. KILL_SEED repeats the choices of a run.
import { afterAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Kill, killPoints } from '../setup/deliveryKiller.ts'
import { killAtPoints } from '../setup/pointKills.ts'

const pointRounds = Number(process.env['KILL_POINT_ROUNDS'] ?? 5)
const rounds = Number(process.env['KILL_ROUNDS'] ?? 200)
const seed = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000)

const modes = ['relay', 'mx'] as const
const kept = await createTestDatabase()
const resent = await createTestDatabase()

const atPoints = Array.from({ length: pointRounds }).flatMap(() =>
  modes.flatMap((mode) => killPoints.map((at): Kill => ({ mode, at }))),
)
const atRandom = (count: number) =>
  Array.from({ length: count }, (_, n): Kill => ({ mode: n % 2 ? 'mx' : 'relay', at: 'random' }))

/** Of both runs, for docs/figures.md. */
const sums: Record<string, number> = {}
const add = (name: string, count: number) => {
  sums[name] = (sums[name] ?? 0) + count
}
afterAll(() => console.log('kills, in all:', JSON.stringify({ seed, ...sums })))

const runs = [
  { resend: true, database: resent, kills: [...atPoints, ...atRandom(Math.ceil(rounds * 0.75))] },
  { resend: false, database: kept, kills: atRandom(Math.floor(rounds * 0.25)) },
].filter(({ kills }) => kills.length > 0)

test.each(runs)(
  `RESEND_UNKNOWN=$resend, KILL_SEED=${seed}`,
  async ({ resend, database, kills }) => {
    const say = (line: string) => console.log(`kills: ${line}`)
    const { faults, counts } = await killAtPoints(database, { seed, kills, resend, say })
    console.log('kills:', JSON.stringify({ resend, ...counts }))
    const { kills: byPoint, seed: _, ...others } = counts
    for (const [name, count] of Object.entries({ ...byPoint, ...others })) add(name, count)
    expect(faults).toEqual([])
    expect(resend ? counts.resent : counts.unknown).toBeGreaterThan(0)
    expect(counts.doubled === 0 || resend).toBe(true)
  },
)
