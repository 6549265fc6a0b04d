// `npm run lanes` with a real worker, without one, and without Temporal.
import { expect, test } from 'vitest'
import { randomPort } from '../../dev/processes/ports.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { runOperator } from '../setup/operator.ts'
import type { ServiceEnv } from '../setup/processes.ts'

const database = await createTestDatabase()

const listLanes = (service: ServiceEnv, env: Record<string, string> = {}) =>
  runOperator('lanes', [], {
    DATABASE_URL: service.databaseUrl,
    TEMPORAL_ADDRESS: service.temporalAddress,
    TEMPORAL_NAMESPACE: service.temporalNamespace,
    ...env,
  })

test('lanes are listed with their shards, worker and queue', async () => {
  const h = await createHarness(database, { env: { DELIVERY_LANES: '2' } })
  h.smtp.setScript(() => ({ at: 'rcpt', reply: '451 4.3.0 try again in 5 minutes' }))
  const to = Array.from({ length: 40 }, (_, i) => `ada@d${i}.test`)
  await h.request('POST', '/v1/emails', { from: 'a@sender.test', to, subject: 'Hi', text: 'Hi' })
  await eventually(async () => {
    const rows = await h.db.selectFrom('deliveries').select('state').execute()
    expect(rows.filter(({ state }) => state === 'deferred')).toHaveLength(40)
  })
  const { code, stdout, stderr } = await eventually(async () => {
    const output = await listLanes(h.service, { DELIVERY_LANES: '3' })
    expect(output.stdout).toMatch(/lane-delivery-1 +\d+@/)
    return output
  })
  expect([code, stderr]).toEqual([0, ''])
  const [header = '', first = '', second = '', note = ''] = stdout.split('\n')
  expect(header.split(/ {2,}/)).toEqual([
    'lane',
    'shards',
    'workflow',
    'worker',
    'heartbeat',
    'attempt',
    'waiting',
    'under way',
    'overdue',
  ])
  const cells = [first, second].map((line) => line.split(/ {2,}/))
  expect(cells.map(([lane, shards, workflow]) => [lane, shards, workflow])).toEqual([
    ['0', '0-31', 'lane-delivery-0'],
    ['1', '32-63', 'lane-delivery-1'],
  ])
  for (const [, , , worker, , attempt] of cells) {
    expect(worker).toMatch(new RegExp(`^${h.workers[0]?.pid}@`))
    expect(attempt).toBe('1')
  }
  const waiting = cells.map((row) => Number(row[6]))
  expect(waiting.reduce((sum, count) => sum + count, 0)).toBe(40)
  expect(note).toBe('2 lanes run, DELIVERY_LANES is 3: the next worker to start changes it')
})

test('it says what to do when no lane runs, and when Temporal is away', async () => {
  const h = await createHarness(database, { env: { WORKER_ROLES: 'executions' } })
  const none = await listLanes(h.service)
  expect(none.code).toBe(0)
  expect(none.stdout).toContain('Start a worker with the role "delivery"')

  const address = `127.0.0.1:${await randomPort()}`
  const away = await listLanes({ ...h.service, temporalAddress: address })
  expect([away.code, away.stdout]).toEqual([1, ''])
  expect(away.stderr).toContain(`Temporal does not answer at ${address}`)
  expect(away.stderr).toContain('Check TEMPORAL_ADDRESS')
})
