// The first mail to domains whose servers nobody has looked up: it leaves from the one lane that has their destination.
import { expect, onTestFinished, test } from 'vitest'
import { laneShards } from '../../delivery/lane/shards.ts'
import type { Dns } from '../../mail/dns/resolver.ts'
import { createMxTransport } from '../../mail/smtp/mx.ts'
import { shardOf } from '../../rules/shard.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { startSmtp } from '../setup/smtp.ts'

const database = await createTestDatabase({ poolSize: 20 })
const { db } = database
const workspace = { db, ...(await seedWorkspace(db)) }

/** All domains have the same server. */
const DESTINATION = '127.0.0.1'
const dns = {
  mx: async (name: string) => ({ kind: 'ok', records: [{ priority: 1, exchange: `mx.${name}` }] }),
  a: async () => ({ kind: 'ok', records: [DESTINATION] }),
  aaaa: async () => ({ kind: 'nodata' }),
} as unknown as Dns

test('the first mail to new domains leaves from the lane of their destination, without a further attempt', async () => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  const shard = shardOf(DESTINATION)
  const lanes = [0, 1].map((lane) => ({ ...laneShards(lane, 2), lane, name: `lane${lane}.test` }))
  const owner = lanes.find(({ from, to }) => shard >= from && shard < to)
  const workers = lanes.map(({ name }) => {
    const mx = { dns, ehloName: name, port: smtp.port, allowPrivate: true }
    const config = { deliveryMode: 'mx', ehloName: name } as const
    return createTestWorker(database, '', { transport: createMxTransport(mx), config })
  })
  const domains = Array.from({ length: 16 }, (_, n) => `new${n}.test`)
  const elsewhere = domains.filter((domain) => {
    const own = shardOf(domain)
    return own < (owner?.from ?? 0) || own >= (owner?.to ?? 0)
  })
  expect(elsewhere.length).toBeGreaterThan(2)
  for (const domain of domains) await acceptMail(workspace, { text: 'Hello', to: [`a@${domain}`] })
  for (const [lane, worker] of workers.entries()) await worker.own({ lane, lanes: 2 })

  await eventually(() => expect(smtp.mails).toHaveLength(domains.length))
  const sent = await eventually(async () => {
    const found = await db
      .selectFrom('email_events')
      .select('data')
      .where('status', '=', 'delivered')
      .execute()
    expect(found).toHaveLength(domains.length)
    return found
  })
  expect(new Set(sent.map(({ data }) => data['reporting_mta']))).toEqual(new Set([owner?.name]))
  const rows = await db
    .selectFrom('deliveries')
    .select(['recipient', 'attempt', 'shard', 'destination'])
    .execute()
  for (const row of rows) {
    expect(row.attempt).toBe(1)
    if (elsewhere.some((domain) => row.recipient.endsWith(`@${domain}`))) {
      expect(row).toMatchObject({ shard, destination: DESTINATION })
    }
  }
  const attempts = await db.selectFrom('delivery_attempts').select('attempt').execute()
  expect(attempts).toHaveLength(domains.length)
})

test('mail whose destination was known when it was accepted goes to what is found since then', async () => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  const shard = shardOf(DESTINATION)
  const lanes = [0, 1].map((lane) => ({ ...laneShards(lane, 2), lane }))
  const other = lanes.find(({ from, to }) => shard < from || shard >= to)
  const mx = { dns, ehloName: 'mail.test', port: smtp.port, allowPrivate: true }
  const config = { deliveryMode: 'mx' } as const
  const worker = createTestWorker(database, '', { transport: createMxTransport(mx), config })
  const known = { shard: other?.from ?? 0, destination: 'google' }
  const id = await acceptMail(workspace, { text: 'Hello', to: ['a@known.test'] })
  await db.updateTable('deliveries').set(known).where('email_id', '=', id).execute()
  await worker.own({ lane: other?.lane ?? 0, lanes: 2 })
  await eventually(() => expect(smtp.mailsTo('a@known.test')).toHaveLength(1))
})
