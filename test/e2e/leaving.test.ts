// A real lane writes nothing to who left while their mail was queued or deferred, and goes on when a GET is undone.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'

const database = await createTestDatabase()
const series = design(
  {
    start: onEvent('began'),
    news: mail('News'),
    wait: ['wait_for_event', { event_name: 'never', timeout: 'P1D' }],
    end: ['exit', {}],
  },
  [
    ['start', 'news'],
    ['news', 'wait'],
    ['wait', 'end', 'received'],
    ['wait', 'end', 'timeout'],
  ],
)
/** Each begins with a mail that the server defers. */
const names = [
  'queued',
  'deferred',
  'suppressed',
  'undone',
  'confirmed',
  'expired',
  'stays',
] as const
type Name = (typeof names)[number]

test('queued and deferred mail of who left', { timeout: 90_000 }, async () => {
  const h = await createHarness(database)
  const { db, smtp, request } = h
  smtp.setScript((_rcpt, attempt) =>
    attempt === 1 ? { at: 'rcpt', reply: '451 4.3.0 later' } : undefined,
  )
  await insertFlow(db, h, series)
  const addressOf = (name: Name) => `${name}@example.test`
  for (const name of names) {
    const event = { event_name: 'began', email: addressOf(name) }
    expect((await request('POST', '/v1/automation/events', event)).status).toBe(202)
  }
  const read = (name: Name) =>
    db
      .selectFrom('deliveries as d')
      .innerJoin('emails as m', 'm.id', 'd.email_id')
      .leftJoin('executions as x', 'x.id', 'm.execution_id')
      .select([
        'd.id',
        'd.state',
        'd.next_at',
        'd.attempt',
        'm.unsubscribe_token',
        'x.ended_status',
      ])
      .where('d.recipient', '=', addressOf(name))
      .where('m.category', '=', 'marketing')
      .executeTakeFirstOrThrow()
  await eventually(async () => {
    for (const name of names) expect((await read(name)).state).toBe('deferred')
  })
  // As when its worker had died before the reply.
  await sql`update deliveries set state = 'queued' where id = ${(await read('queued')).id}`.execute(
    db,
  )

  const visit = async (name: Name, method: string, more = '') =>
    fetch(`${h.api.url}/u/${(await read(name)).unsubscribe_token}${more}`, { method })
  for (const name of ['queued', 'deferred'] as const) {
    expect((await visit(name, 'POST')).status).toBe(200)
    expect((await read(name)).state).toBe('cancelled')
  }
  expect((await visit('undone', 'GET')).status).toBe(200)
  expect((await visit('confirmed', 'GET')).status).toBe(200)
  // Written behind the service's back, so that only the claim can see it.
  await db
    .insertInto('suppressions')
    .values({
      workspace_id: h.workspaceId,
      email: addressOf('suppressed'),
      reason: 'manual',
      source_id: null,
      created_at: new Date(),
      expires_at: null,
    })
    .execute()
  await sql`update deliveries set expires_at = now() - interval '1 hour'
    where id = ${(await read('expired')).id}`.execute(db)

  await sql`update deliveries set next_at = now() - interval '1 second' where settled_at is null`.execute(
    db,
  )
  await sql`notify dripline_deliveries`.execute(db)
  await eventually(async () => {
    expect((await read('stays')).state).toBe('delivered')
    expect((await read('suppressed')).state).toBe('suppressed')
    expect((await read('expired')).state).toBe('bounced')
    for (const name of ['undone', 'confirmed'] as const) {
      const { state, next_at } = await read(name)
      expect(state).toBe('deferred')
      expect(next_at.getTime()).toBeGreaterThan(Date.now())
    }
  })
  // A person who goes back gets their mail; of who does not, a minute later, all is cancelled.
  expect((await visit('undone', 'POST', '/undo')).status).toBe(200)
  await sql`update opt_outs set created_at = created_at - interval '1 minute'
    where unconfirmed_email_id is not null`.execute(db)
  await sql`update outbox set due_at = due_at - interval '1 minute' where kind = 'leave'`.execute(
    db,
  )
  await eventually(async () => {
    expect((await read('undone')).state).toBe('delivered')
    expect(await read('confirmed')).toMatchObject({ state: 'cancelled', ended_status: 'CANCELLED' })
  })
  expect((await read('undone')).ended_status).toBeNull()

  // Receipts go to who unsubscribed.
  const receipt = {
    from: 'hello@sender.test',
    to: addressOf('deferred'),
    subject: 'Receipt',
    text: 'x',
  }
  expect((await request('POST', '/v1/emails', receipt)).status).toBe(200)
  await eventually(() => expect(smtp.mailsTo(addressOf('deferred'))).toHaveLength(1))
  const tried = Object.fromEntries(names.map((name) => [name, smtp.attempts.get(addressOf(name))]))
  expect(tried).toEqual({
    queued: 1,
    // The second is the receipt.
    deferred: 2,
    suppressed: 1,
    undone: 2,
    confirmed: 1,
    expired: 1,
    stays: 2,
  })
  expect((await read('expired')).attempt).toBe(1)
})
