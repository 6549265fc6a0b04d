// All known attacks of one customer at once beside another's load, which must not notice. HOSTILE_SECONDS is how long
// (default 60), HOSTILE_RATE the emails and events a second (100); HOSTILE_ONLY names some attacks, with commas between
// (bench/hostile/attackers.ts).
import { expect, test } from 'vitest'
import { isolationBars } from '../../bench/isolationBars.ts'
import { isolationFaults } from '../../bench/isolationFaults.ts'
import { runIsolation } from '../../bench/isolationRun.ts'
import { withServers } from '../../bench/servers.ts'

const seconds = Number(process.env['HOSTILE_SECONDS'] ?? 60)
const only = process.env['HOSTILE_ONLY']?.split(',')
const perSecond = Number(process.env['HOSTILE_RATE'] ?? 100)
const REST_SECONDS = 20

test(`all attacks for ${seconds} s beside another customer's load`, async () => {
  const run = await withServers(console.log, (servers) =>
    runIsolation(servers, {
      seconds,
      perSecond,
      rest_seconds: REST_SECONDS,
      ...(only ? { only } : {}),
      say: console.log,
    }),
  )
  const { databaseUrl: _, ...shown } = run
  console.log('hostile:', JSON.stringify(shown, null, 2))
  expect(isolationFaults(run)).toEqual([])
  const { emails, events, delivered } = run.attacked
  expect(emails.p99_ms, 'emails, 99th percentile, ms').toBeLessThan(isolationBars.answer_ms)
  expect(events.p99_ms, 'events, 99th percentile, ms').toBeLessThan(isolationBars.answer_ms)
  expect(delivered.max_ms, 'slowest delivery, ms').toBeLessThan(isolationBars.delivered_ms)
  for (const [name, outcomes] of Object.entries(run.attacks)) {
    const attacked = Object.values(outcomes).reduce((sum, count) => sum + count, 0)
    expect(attacked, `what came of the attack ${name}`).toBeGreaterThan(0)
  }
})
