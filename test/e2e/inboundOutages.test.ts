// Reports during outages: the worker is killed, the sender disconnects, the database is down. Each report counts
// once, none is lost.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createInboundHarness, written } from '../setup/inbound.ts'
import { startOwnDatabase } from '../setup/ownDatabase.ts'
import { startPrivateTemporal } from '../setup/servers.ts'
import { connectInbound, toWire } from '../unit/inbound/client.ts'
import { statusReport } from '../unit/inbound/reports.ts'

const database = await createTestDatabase()

test('kill -9 before the 250, a lost reply, an outage: each report counts once', {
  timeout: 120_000,
}, async () => {
  const { postgres, ...own } = await startOwnDatabase()
  const h = await createInboundHarness(own)
  const [worker] = h.workers
  const { id, returnPath } = await h.deliver('gone@example.test')
  const bounces = async () =>
    (await written(h)).events.filter((event) => event.status === 'bounced').length

  // The commit is delayed: the worker is killed between the dot and the 250.
  const client = await connectInbound(h.port)
  for (const line of ['EHLO a.test', 'MAIL FROM:<>', `RCPT TO:<${returnPath}>`, 'DATA']) {
    await client.say(line)
  }
  await h.db.transaction().execute(async (trx) => {
    await trx.selectFrom('deliveries').select('id').where('email_id', '=', id).forUpdate().execute()
    const reply = client.say(toWire(statusReport()))
    await eventually(async () => {
      const { rows } = await sql`
        select pid from pg_stat_activity where wait_event_type = 'Lock'
      `.execute(h.db)
      expect(rows).toHaveLength(1)
    })
    await worker?.kill()
    expect(await reply).toBe('')
  })
  expect(await bounces()).toBe(0)
  await worker?.start()
  expect(await h.report(returnPath)).toMatch(/^250 /)
  expect(await bounces()).toBe(1)

  // It was committed, but the sender gets no reply and sends it again.
  const second = await h.deliver('left@example.test')
  const deaf = await connectInbound(h.port)
  for (const line of ['EHLO a.test', 'MAIL FROM:<>', `RCPT TO:<${second.returnPath}>`, 'DATA']) {
    await deaf.say(line)
  }
  deaf.socket.pause()
  deaf.socket.write(toWire(statusReport()))
  await eventually(async () => expect(await bounces()).toBe(2))
  deaf.close()
  const before = await written(h)
  expect(await h.report(second.returnPath)).toMatch(/^250 /)
  expect(await written(h)).toEqual(before)

  // Without the database the sender gets a temporary refusal.
  const third = await h.deliver('away@example.test')
  await postgres.stop()
  expect(await h.report(third.returnPath)).toMatch(/^451 4\.3\.0 /)
  await postgres.restart()
  await eventually(async () => expect(await h.report(third.returnPath)).toMatch(/^250 /))
  expect(await h.statusOf(third.id, 'away@example.test')).toMatchObject({ status: 'bounced' })
  expect(await bounces()).toBe(3)

  // A stopping worker ends at once, even with open connections.
  const idle = await connectInbound(h.port)
  expect(await worker?.stop(), worker?.log()).toEqual({ code: 0, signal: null })
  idle.close()
})

test('a worker that starts while Temporal is away takes reports all the same', async () => {
  const temporal = await startPrivateTemporal()
  const h = await createInboundHarness(database, {
    temporal: { address: temporal.address, namespace: 'default' },
  })
  const { id, returnPath } = await h.deliver('gone@example.test')
  const [worker] = h.workers
  await worker?.kill()
  await temporal.stop()
  await worker?.start({ ready: false })
  await eventually(async () => expect(await h.report(returnPath)).toMatch(/^250 /))
  expect(await h.statusOf(id, 'gone@example.test')).toMatchObject({ status: 'bounced' })
})
