// Hundreds of domains whose servers never answer do not delay the mail of one whose server does.
import { expect, onTestFinished, test } from 'vitest'
import { randomPort } from '../../dev/processes/ports.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { mxEnv } from '../setup/mxEnv.ts'
import { startNameServer } from '../setup/nameServer.ts'
import { startFaultServer } from '../unit/mail/faultServer.ts'

const database = await createTestDatabase()

const DEAD_DOMAINS = 400
/** Each address is a destination of its own. */
const DEAD_ADDRESSES = 60
const TO_ONE_DEAD = 200
/** Only what hangs takes so long. */
const HANGS_MS = 60_000

test('mail for servers that do not answer does not delay other mail', {
  timeout: 180_000,
}, async () => {
  const nameServer = await startNameServer({
    'dead.test': [
      'big A 127.0.0.2',
      ...Array.from(
        { length: DEAD_DOMAINS },
        (_, i) => `d${i} A 127.0.1.${1 + (i % DEAD_ADDRESSES)}`,
      ),
    ].join('\n'),
    'good.test': '@ A 127.0.0.3',
  })
  onTestFinished(nameServer.close)
  const port = await randomPort()
  const silent = await Promise.all(
    ['127.0.0.2', ...Array.from({ length: DEAD_ADDRESSES }, (_, i) => `127.0.1.${1 + i}`)].map(
      (address) => startFaultServer(() => 'hang', port, address),
    ),
  )
  onTestFinished(async () => {
    await Promise.all(silent.map((server) => server.close()))
  })
  const good = await startFaultServer(undefined, port, '127.0.0.3')
  onTestFinished(good.close)
  const h = await createHarness(database, {
    env: { ...mxEnv(nameServer, port), SMTP_CONNECTIONS: '20' },
  })
  const send = (to: string[]) =>
    h.request('POST', '/v1/emails', { from: 'hello@sender.test', to, subject: 'Hi', text: 'Hi' })
  const dead = [
    ...Array.from({ length: DEAD_DOMAINS }, (_, i) => `ada@d${i}.dead.test`),
    ...Array.from({ length: TO_ONE_DEAD }, (_, i) => `user${i}@big.dead.test`),
  ]
  while (dead.length > 0) await send(dead.splice(0, 50))
  const fine = Array.from({ length: 20 }, (_, i) => `user${i}@good.test`)
  await send(fine)

  const states = async () => {
    const rows = await h.db
      .selectFrom('deliveries')
      .select(['recipient', 'state', 'attempt'])
      .execute()
    return {
      good: rows.filter(({ recipient }) => recipient.endsWith('@good.test')),
      dead: rows.filter(({ recipient }) => recipient.endsWith('.dead.test')),
    }
  }
  const sentAt = Date.now()
  const delivered = await eventually(
    async () => {
      const found = await states()
      expect(found.good.map(({ state }) => state)).toEqual(fine.map(() => 'delivered'))
      return found
    },
    { deadline_ms: HANGS_MS },
  )
  const tried = () => silent.map((server) => server.seen.connections)
  console.log('dead domains:', {
    good_ms: Date.now() - sentAt,
    silent: tried().reduce((sum, connections) => sum + connections, 0),
  })
  // No server was given up by then, and none had more than one of the places.
  const outcomes = await h.db.selectFrom('delivery_attempts').select('outcome').distinct().execute()
  expect(outcomes).toEqual([{ outcome: 'delivered' }])
  expect(Math.max(...tried())).toBe(1)
  const underWay = delivered.dead.filter(({ state }) => state === 'sending')
  expect(underWay.length, 'all places of the lane would be taken by now').toBeGreaterThan(60)

  // The metrics name fifty destinations and sum up the rest, and have no addresses.
  await eventually(async () => {
    const metrics = await (await fetch(`${h.workers[0]?.url}/metrics`)).text()
    const named = metrics.matchAll(/^dripline_smtp_connections\{destination="([^"]+)"/gm)
    const destinations = new Set([...named].map(([, name]) => name))
    expect(destinations.size).toBe(51)
    expect(destinations).toContain('other')
    expect(metrics).not.toContain('@')
  })

  // Untried deliveries came back without an attempt.
  await eventually(async () => {
    const found = await states()
    const big = found.dead.filter(({ recipient }) => recipient.endsWith('@big.dead.test'))
    const back = big.filter(({ state, attempt }) => state === 'queued' && attempt === 0)
    expect(back.length).toBeGreaterThan(0)
    const last = await send(['late@good.test'])
    expect(last.status).toBe(200)
  })
  await eventually(async () => expect((await states()).good.at(-1)?.state).toBe('delivered'), {
    deadline_ms: HANGS_MS,
  })
})
