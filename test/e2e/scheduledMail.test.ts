// Scheduled mail through real workers: nobody is there at its time, a worker dies while mail is made ready, and mail is cancelled.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { startWorker } from '../setup/processes.ts'

const HOUR_MS = 3_600_000
const deadline = { deadline_ms: 90_000 }

test('due while no worker is there, it is sent when one comes, and not before its time', {
  timeout: 300_000,
}, async () => {
  const h = await createHarness(await createTestDatabase())
  const [worker] = h.workers
  const scheduled_at = Date.now() + 4_000
  const body = { from: 'a@sender.test', to: 'ada@example.test', subject: 'S', text: 'T' }
  const made = await h.request<{ id: string }>('POST', '/v1/emails', { ...body, scheduled_at })
  expect(made).toMatchObject({ status: 200, body: { status: 'scheduled' } })
  const onTime = await h.request('POST', '/v1/emails', {
    ...body,
    to: 'grace@example.test',
    scheduled_at: Date.now() + 1_000,
  })
  expect(onTime).toMatchObject({ body: { status: 'scheduled' } })
  await eventually(() => expect(h.smtp.mailsTo('grace@example.test')).toHaveLength(1), deadline)
  await worker?.kill()
  const sentBefore = h.smtp.mailsTo('ada@example.test')
  await eventually(() => expect(Date.now()).toBeGreaterThan(scheduled_at + 500), deadline)
  expect(h.smtp.mailsTo('ada@example.test')).toEqual(sentBefore)
  await worker?.start()
  await eventually(() => expect(h.smtp.mailsTo('ada@example.test')).toHaveLength(1), deadline)
  expect(h.smtp.mailsTo('ada@example.test')[0]?.at.getTime()).toBeGreaterThanOrEqual(scheduled_at)
  await eventually(async () => {
    const { body } = await h.request('GET', `/v1/emails/${made.body.id}`)
    expect(body).toMatchObject({
      last_event: { status: 'delivered' },
      email_sent_timestamp: scheduled_at,
      recipient_statuses: [{ events: [{ status: 'sent' }, { status: 'delivered' }] }],
    })
  }, deadline)
})

/** The lock that keeps a statement from making the mail of one recipient ready. */
const HELD = 7_038
const MAILS = 300

test('kill -9 while mail is made ready: each is sent once, and what was cancelled never', {
  timeout: 300_000,
}, async () => {
  const h = await createHarness(await createTestDatabase(), { workers: 0 })
  const { service } = h
  const scheduled_at = Date.now() + HOUR_MS
  const addressOf = (n: number) => `user${n}@example.test`
  const ids: string[] = []
  for (let from = 0; from < MAILS; from += 100) {
    const emails = Array.from({ length: 100 }, (_, i) => ({
      from: 'a@sender.test',
      to: addressOf(from + i),
      subject: 'S',
      text: 'T',
      scheduled_at,
    }))
    type Batch = { emails: { id: string }[] }
    const { body } = await h.request<Batch>('POST', '/v1/emails/batch', { emails })
    ids.push(...body.emails.map(({ id }) => id))
  }
  const cancelled = ids.filter((_, n) => n % 10 === 0)
  for (const id of cancelled) {
    expect((await h.request('POST', `/v1/emails/${id}/cancel`)).status).toBe(200)
  }
  // Their hour has come.
  await sql`update deliveries set next_at = now(), due_at = now() where scheduled`.execute(h.db)
  await sql`
    create function wait_for_test() returns trigger language plpgsql as $$
    begin
      if new.status = 'sent' and new.recipient = ${sql.lit(addressOf(151))} then
        perform pg_advisory_xact_lock_shared(${sql.lit(HELD)});
      end if;
      return new;
    end $$`.execute(h.db)
  await sql`create trigger wait_for_test before insert on email_events for each row execute function wait_for_test()`.execute(
    h.db,
  )
  await h.db.connection().execute(async (holder) => {
    await sql`select pg_advisory_lock(${sql.lit(HELD)})`.execute(holder)
    const worker = await startWorker(service)
    await eventually(async () => {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from pg_locks where locktype = 'advisory' and objid = ${HELD}::oid and not granted
      `.execute(h.db)
      expect(rows).toEqual([{ count: 1 }])
    }, deadline)
    await worker.kill()
    await sql`select pg_advisory_unlock(${sql.lit(HELD)})`.execute(holder)
  })
  await startWorker(service)
  const wanted = ids.flatMap((id, n) => (cancelled.includes(id) ? [] : [addressOf(n)])).sort()
  const arrived = () => [...new Set(h.smtp.mails.flatMap(({ to }) => to))].sort()
  await eventually(() => expect(arrived()).toEqual(wanted), deadline)
  await eventually(async () => {
    const { rows } = await sql`select id from deliveries where settled_at is null`.execute(h.db)
    expect(rows).toEqual([])
  }, deadline)
  const { rows } = await sql<{ events: string; mails: number }>`
    select events, count(*)::int as mails from (
      select string_agg(status, ',' order by at, id) as events from email_events group by email_id, recipient
    ) one group by events order by events
  `.execute(h.db)
  expect(rows).toEqual([
    { events: 'scheduled,bounced', mails: cancelled.length },
    { events: 'scheduled,sent,delivered', mails: wanted.length },
  ])
  const asked = [...h.smtp.attempts.keys()].sort()
  expect(asked).toEqual(wanted)
})
