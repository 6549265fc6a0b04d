// Mail events from the outbox to contacts: in order, once, and not delayed by locked contacts or by events that
// cannot be recorded.
// Long because each way in which they come meets the same contacts and clock.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import {
  putOffContact,
  tellContacts,
  tellLockedContact,
} from '../../commands/events/tellContacts.ts'
import { takeReport } from '../../commands/reports/take.ts'
import { recordTracking } from '../../commands/tracking/record.ts'
import { transact } from '../../commands/transact.ts'
import { boundLockWaits, lockContactByEmail } from '../../db/contacts/writes.ts'
import { insertMailEvent, type MailEventFacts } from '../../db/deliveries/mailEvents.ts'
import { findTrackedDelivery } from '../../db/tracking/reads.ts'
import { classifyReply } from '../../rules/mail/bounceRules.ts'
import { createLog } from '../../runtime/log.ts'
import { startPump } from '../../worker/pump.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { holdContact, tellAll } from '../setup/mailEvents.ts'
import { bringTo } from '../setup/states.ts'
import { uniqueName } from '../setup/unique.ts'

const START_MS = Date.UTC(2026, 0, 1)
let time = START_MS
const api = await createTestApi({ now: () => new Date(time) })
const { db, deps, workspaceId, url } = api
await insertTestDomain(api, 'sender.test')
beforeEach(async () => {
  time += 60_000
  api.woken.length = 0
  await sql`truncate outbox`.execute(db)
})

/** A contact with one email to them. */
async function mailed(to = `${uniqueName('c')}@example.test`) {
  const seen = { event_name: 'seen', email: to }
  await api.request('POST', '/v1/automation/events', seen)
  const mail = { from: 'a@sender.test', to, subject: 'S', text: 'T' }
  const { body } = await api.request<{ id: string }>('POST', '/v1/emails', mail)
  const delivery = await db
    .selectFrom('deliveries')
    .select('id')
    .where('email_id', '=', body.id)
    .executeTakeFirstOrThrow()
  return { to, emailId: body.id, deliveryId: delivery.id }
}

const write = (deliveryId: number, name: MailEventFacts['name'], at = time) =>
  transact(deps, ({ db: trx }) => {
    const event = { name, at: new Date(at), data: name === 'clicked' ? { link: 'x' } : {} }
    return insertMailEvent(trx, workspaceId, deliveryId, event, new Date(time))
  })

const heard = async (email: string) =>
  (
    await db
      .selectFrom('automation_events')
      .select(['event_name', 'properties', 'at'])
      .where('email', '=', email)
      .where('event_name', 'like', 'email.%')
      .where('event_name', '<>', 'email.sent')
      .orderBy('id')
      .execute()
  ).map(({ event_name }) => event_name)

const contact = (email: string) =>
  db.selectFrom('contacts').selectAll().where('email', '=', email).executeTakeFirstOrThrow()

test('each event is recorded and counted once for its contact, in order', async () => {
  const { to, emailId, deliveryId } = await mailed()
  const before = await contact(to)
  await write(deliveryId, 'delivered', time + 1)
  await write(deliveryId, 'opened', time + 2)
  await write(deliveryId, 'clicked', time + 3)
  expect(await tellAll(deps)).toBe(3)
  expect(await tellAll(deps)).toBe(0)
  expect(await heard(to)).toEqual(['email.delivered', 'email.opened', 'email.clicked'])
  const after = await contact(to)
  expect(after).toMatchObject({
    event_count: before.event_count + 3,
    last_event: 'email.clicked',
    last_seen: new Date(time + 3),
  })
  const { rows } =
    await sql`select ordinal from automation_events where email = ${to} order by id`.execute(db)
  expect(rows).toEqual(Array.from({ length: after.event_count }, (_, n) => ({ ordinal: n + 1 })))
  const clicked = await db
    .selectFrom('automation_events')
    .select(['properties', 'event_id', 'id'])
    .where('email', '=', to)
    .where('event_name', '=', 'email.clicked')
    .executeTakeFirstOrThrow()
  expect(clicked.event_id).toBe(clicked.id)
  expect(clicked.properties).toEqual({
    status: 'clicked',
    email_id: emailId,
    subject: 'S',
    workflow_id: null,
    execution_id: null,
    node_id: null,
    link: 'x',
  })
})

test('nothing is recorded for an address that is not or no longer a contact', async () => {
  const one = await mailed()
  await write(one.deliveryId, 'delivered')
  await sql`delete from contacts where email = ${one.to}`.execute(db)
  expect(await write(one.deliveryId, 'opened')).toBe(false)
  expect(await tellAll(deps)).toBe(1)
  expect(await heard(one.to)).toEqual([])
  expect(await db.selectFrom('outbox').select('id').execute()).toEqual([])
})

test('a locked contact does not delay others, however many events wait for them', async () => {
  const [held, other] = [await mailed(), await mailed()]
  for (let i = 0; i < 450; i++) await write(held.deliveryId, 'opened', time + i)
  await write(other.deliveryId, 'delivered')
  await holdContact(url, held.to, async () => {
    await eventually(async () => {
      // Move the clock for each try, so that events that were put off are due again.
      time += 100
      await tellContacts(deps, workspaceId)
      expect(await heard(other.to)).toEqual(['email.delivered'])
    })
    expect(await heard(held.to)).toEqual([])
  })
  time += 10_000
  expect(await tellAll(deps)).toBe(450)
  expect(await heard(held.to)).toHaveLength(450)
  expect((await contact(held.to)).event_count).toBe(450 + 2)
})

test('a report, an open and a click do not wait for a locked contact', async () => {
  const { to, emailId, deliveryId } = await mailed()
  await bringTo(db, { emailId }, 'delivered', new Date(time))
  time += 60_000
  await holdContact(url, to, async () => {
    const delivery = await findTrackedDelivery(db, deliveryId, null)
    if (!delivery) throw new Error('the delivery is not there')
    const visit = { ip: null, userAgent: 'x', machine: null }
    await recordTracking(deps, workspaceId, { delivery, link: null, visit })
    await recordTracking(deps, workspaceId, { delivery, link: 'https://x.test/', visit })
    const bounce = classifyReply({ code: null, enhanced: '5.1.1', reply: '' })
    const report = { kind: 'bounce', bounce, status: '5.1.1' } as const
    expect(await takeReport(deps, deliveryId, report)).toBe('taken')
  })
  await tellAll(deps)
  expect(await heard(to)).toEqual(['email.opened', 'email.clicked', 'email.bounced'])
})

test('several concurrent pumps record each event once', async () => {
  const mails = await Promise.all(Array.from({ length: 40 }, () => mailed()))
  for (const { deliveryId } of mails) await write(deliveryId, 'delivered')
  for (const { deliveryId } of mails) await write(deliveryId, 'opened')
  const told = await Promise.all(Array.from({ length: 6 }, () => tellAll(deps)))
  await tellAll(deps)
  expect(told.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(80)
  for (const { to } of mails) expect(await heard(to)).toEqual(['email.delivered', 'email.opened'])
})

test('an event that cannot be recorded is put off, and the others are recorded', async () => {
  const [bad, good] = [await mailed(), await mailed()]
  await sql`
    create function refuse() returns trigger language plpgsql as $$
    begin
      if new.email = ${sql.lit(bad.to)} then raise exception 'refused'; end if;
      return new;
    end $$;
    create trigger refuse before insert on automation_events for each row execute function refuse();
  `.execute(db)
  await write(bad.deliveryId, 'delivered')
  await write(good.deliveryId, 'delivered')
  const log = createLog('pump', 'silent')
  const pump = startPump({ ...deps, log, onMailEvents: () => async () => undefined })
  try {
    await eventually(async () => expect(await heard(good.to)).toEqual(['email.delivered']))
    await eventually(async () => {
      const rows = await db.selectFrom('outbox').select(['attempts', 'due_at']).execute()
      expect(rows).toMatchObject([{ attempts: 1, due_at: new Date(time + 30_000) }])
    })
    await sql`drop trigger refuse on automation_events; drop function refuse()`.execute(db)
    time += 30_000
    await eventually(async () => expect(await heard(bad.to)).toEqual(['email.delivered']))
  } finally {
    await pump.stop()
  }
})

test('an event starts a workflow and ends a wait, and wakes the starter', async () => {
  const { to, deliveryId } = await mailed()
  await write(deliveryId, 'delivered')
  await tellAll(deps)
  expect(api.woken).not.toContain('dripline_outbox')
  const { userId } = api
  const flow = design({ start: onEvent('email.opened'), end: ['exit', {}] }, [['start', 'end']])
  const id = await insertFlow(db, { workspaceId, userId }, flow)
  await write(deliveryId, 'opened')
  await tellAll(deps)
  expect(api.woken).toContain('dripline_outbox')
  const started = await db
    .selectFrom('executions')
    .select(['workflow_id', 'chain_depth'])
    .where('email', '=', to)
    .execute()
  expect(started).toEqual([{ workflow_id: id, chain_depth: 1 }])
})

/** Does what a segment does before it decides whether the contact has opened. */
const decide = (
  email: string,
  before: () => Promise<unknown> = async () => undefined,
  told = 'all',
) =>
  transact(deps, async (inTrx) => {
    const contact = await lockContactByEmail(inTrx.db, workspaceId, email)
    if (!contact) throw new Error(`no contact ${email}`)
    expect(await tellLockedContact(inTrx, workspaceId, contact.id, ['email.opened'])).toBe(told)
    await before()
  })

test('a segment decides by an event behind 145: a first commit records 100, the next one decides', async () => {
  const { to, deliveryId } = await mailed()
  for (let n = 0; n < 145; n++) await write(deliveryId, 'opened')
  await decide(to, async () => undefined, 'some')
  expect(await heard(to)).toHaveLength(100)
  await decide(to)
  expect(await heard(to)).toEqual(Array(145).fill('email.opened'))
})

test('a segment waits for a reader who puts off at that moment what it decides by', async () => {
  const { to, deliveryId } = await mailed()
  await write(deliveryId, 'opened')
  let deciding: Promise<unknown> = Promise.resolve()
  await transact(deps, async ({ db: trx }) => {
    await sql`update outbox set attempts = attempts + 1 where kind = 'mail_event'`.execute(trx)
    deciding = decide(to)
    await untilWaiting(db, 1)
  })
  await deciding
  expect(await heard(to)).toEqual(['email.opened'])
})

test('a segment that cannot have an event because somebody holds it is tried again, also after a deadlock', async () => {
  const { to, deliveryId } = await mailed()
  await write(deliveryId, 'opened')
  let deciding: Promise<unknown> = Promise.resolve()
  await transact(deps, async ({ db: trx }) => {
    await sql`update outbox set attempts = attempts + 1 where kind = 'mail_event'`.execute(trx)
    const briefly = transact(deps, async (inTrx) => {
      await boundLockWaits(inTrx.db)
      const { id } = await contact(to)
      return tellLockedContact(inTrx, workspaceId, id, ['email.opened'])
    })
    await expect(briefly).rejects.toMatchObject({ code: '55P03' })
    deciding = decide(to)
    await untilWaiting(db, 1)
    await lockContactByEmail(trx, workspaceId, to)
  })
  await deciding
  expect(await heard(to)).toEqual(['email.opened'])
})

test('events that are put off wait for none that is recorded at that moment', async () => {
  const { to, deliveryId } = await mailed()
  await write(deliveryId, 'opened')
  await write(deliveryId, 'clicked')
  const { id } = await contact(to)
  const until = new Date(time + 30_000)
  await transact(deps, async ({ db: trx }) => {
    const name = sql`payload->>'name'`
    await sql`select from outbox where ${name} = 'opened' for update`.execute(trx)
    await putOffContact(deps, workspaceId, id, until)
  })
  const rows = await db.selectFrom('outbox').select('due_at').orderBy('id').execute()
  expect(rows).toEqual([{ due_at: new Date(time) }, { due_at: until }])
})

test('an event that cannot be recorded keeps none of another name', async () => {
  const { to, deliveryId } = await mailed()
  await sql`
    create function refuse() returns trigger language plpgsql as $$
    begin
      if new.event_name = 'email.clicked' then raise exception 'refused'; end if;
      return new;
    end $$;
    create trigger refuse before insert on automation_events for each row execute function refuse();
  `.execute(db)
  await write(deliveryId, 'clicked')
  await write(deliveryId, 'opened')
  const { id } = await contact(to)
  const names = ['email.clicked', 'email.opened']
  const told = await transact(deps, (inTrx) => tellLockedContact(inTrx, workspaceId, id, names))
  await sql`drop trigger refuse on automation_events; drop function refuse()`.execute(db)
  expect(told).toBe('none')
  expect(await heard(to)).toEqual(['email.opened'])
  await tellAll(deps)
  expect(await heard(to)).toEqual(['email.opened', 'email.clicked'])
})

test('concurrent segments and a pump record each event once', async () => {
  const people = await Promise.all(Array.from({ length: 40 }, () => mailed()))
  for (let round = 0; round < 5; round++) {
    await Promise.all(people.map(({ deliveryId }) => write(deliveryId, 'opened')))
    const pumps = Promise.all(Array.from({ length: 4 }, () => tellContacts(deps, workspaceId)))
    await Promise.all([...people.map(({ to }) => decide(to)), pumps])
    time += 10_000
    await tellAll(deps)
  }
  for (const { to } of people) expect(await heard(to)).toEqual(Array(5).fill('email.opened'))
})

test('a frozen segment does not delay the pump', async () => {
  const [held, other] = [await mailed(), await mailed()]
  await write(held.deliveryId, 'opened')
  await write(other.deliveryId, 'delivered')
  await decide(held.to, async () => {
    expect(await tellContacts(deps, workspaceId)).toMatchObject({ told: 1 })
    expect(await heard(other.to)).toEqual(['email.delivered'])
  })
  expect(await heard(held.to)).toEqual(['email.opened'])
})

test('a worker of a release without mail events does not hand them to Temporal', async () => {
  const { deliveryId } = await mailed()
  await sql`truncate outbox`.execute(db)
  await write(deliveryId, 'delivered')
  // The query of such a worker.
  const { rows } = await sql`
    select * from outbox o where next_at <= ${new Date(time + 60_000)} and not exists (
      select from outbox earlier where earlier.execution_id = o.execution_id and earlier.id < o.id)
  `.execute(db)
  expect(rows).toEqual([])
})
