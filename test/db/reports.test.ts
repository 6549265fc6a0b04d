// Reports of bounces and complaints: in each state of a delivery, repeated, in one workspace, beside other
// writers.
// Long because every report starts from the same ledger, which its head makes.
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { takeReport } from '../../commands/reports/take.ts'
import { findSoleDelivery } from '../../db/deliveries/reads.ts'
import { isSendingDomain } from '../../db/domains/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Bounce, classifyReply } from '../../rules/mail/bounceRules.ts'
import type { InboundReport } from '../../rules/mail/inboundReport.ts'
import { type DeliveryState, deliveryTransitions } from '../../rules/states.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { tellAll } from '../setup/mailEvents.ts'
import { bringTo } from '../setup/states.ts'
import { uniqueName } from '../setup/unique.ts'

const DAY_MS = 86_400_000
let time = Date.UTC(2026, 0, 1)
const api = await createTestApi({ now: () => new Date(time) })
await insertTestDomain(api, 'sender.test')
beforeEach(() => {
  time += 10 * DAY_MS
  api.woken.length = 0
})

const bounceOf = (enhanced: string | null, reply = ''): InboundReport => {
  const bounce: Bounce = classifyReply({ code: null, enhanced, reply })
  return { kind: 'bounce', bounce, status: enhanced }
}
const gone = bounceOf('5.1.1')
const full = bounceOf('4.2.2')
const complaint: InboundReport = { kind: 'complaint', feedbackType: 'abuse' }
const take = (id: number, report: InboundReport) => takeReport(api.deps, id, report)

/** An email to a new address, its delivery in the given state. */
async function delivery(state: DeliveryState, to = `${uniqueName('r')}@example.test`) {
  const mail = { from: 'a@sender.test', to, subject: 'S', text: 'T' }
  const { body } = await api.request<{ id: string }>('POST', '/v1/emails', mail)
  const [id = 0] = await bringTo(api.db, { emailId: body.id }, state, new Date(time))
  return { id, to, emailId: body.id }
}

const look = async ({ id, emailId, to }: Awaited<ReturnType<typeof delivery>>) => ({
  row: await api.db
    .selectFrom('deliveries')
    .select(['state', 'settled_at'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow(),
  bounces: (
    await api.db
      .selectFrom('email_events')
      .select('data')
      .where('email_id', '=', emailId)
      .where('status', '=', 'bounced')
      .execute()
  ).map(({ data }) => data),
  suppression: await api.db
    .selectFrom('suppressions')
    .select(['reason', 'source_id', 'expires_at'])
    .where('workspace_id', '=', api.workspaceId)
    .where('email', '=', to.toLowerCase())
    .executeTakeFirst(),
})

describe('a bounce', () => {
  const states = Object.keys(deliveryTransitions) as DeliveryState[]
  const underWay: DeliveryState[] = ['sending', 'data_sent']

  test.each(states)('of a delivery that is %s', async (state) => {
    const one = await delivery(state)
    const before = await look(one)
    time += 1000
    const may = (deliveryTransitions[state] as readonly string[]).includes('bounced')
    const expected = underWay.includes(state) ? 'under_way' : may ? 'taken' : 'known'
    expect(await take(one.id, gone)).toBe(expected)
    const after = await look(one)
    if (expected !== 'taken') return expect(after).toEqual(before)
    expect(after).toEqual({
      row: { state: 'bounced', settled_at: before.row.settled_at ?? new Date(time) },
      bounces: [{ type: 'Permanent', subtype: 'NoEmail' }],
      suppression: { reason: 'bounce', source_id: one.emailId, expires_at: null },
    })
  })

  test('of a delivery that does not exist changes nothing', async () => {
    expect(await take(987_654_321, gone)).toBe('ignored')
    expect(await take(987_654_321, complaint)).toBe('ignored')
  })

  test('is stored once, however often it arrives concurrently', async () => {
    const one = await delivery('delivered')
    const taken = await Promise.all(
      Array.from({ length: 12 }, (_, i) => take(one.id, i % 2 ? gone : full)),
    )
    expect(taken.sort()).toEqual([...Array(11).fill('known'), 'taken'])
    expect((await look(one)).bounces).toHaveLength(1)
  })

  test('of an address that was erased suppresses nothing', async () => {
    const count = () => api.db.selectFrom('suppressions').select('email').execute()
    const before = await count()
    for (const report of [gone, full, complaint]) {
      const one = await delivery('delivered')
      const blank = { recipient: '' }
      await api.db.updateTable('deliveries').set(blank).where('id', '=', one.id).execute()
      expect(await take(one.id, report)).toBe('taken')
    }
    expect(await count()).toEqual(before)
  })

  test('stops a delivery that waits to be sent again', async () => {
    const one = await delivery('queued')
    await take(one.id, gone)
    const { rows } = await sql`
      select id from deliveries where id = ${one.id} and settled_at is null
    `.execute(api.db)
    expect(rows).toEqual([])
  })

  test('suppresses only in its own workspace, in any case of letters', async () => {
    const one = await delivery('delivered', `Big.${uniqueName('r')}@Example.test`)
    await take(one.id, gone)
    const { rows } = await sql<{ workspace_id: string }>`
      select workspace_id from suppressions where email = ${one.to.toLowerCase()}
    `.execute(api.db)
    expect(rows).toEqual([{ workspace_id: api.workspaceId }])
  })

  test.each([
    ['our own fault', bounceOf('5.7.26')],
    ['nobody knows why', bounceOf(null)],
  ])('that is %s suppresses nobody, ever', async (_, report) => {
    const to = `${uniqueName('r')}@example.test`
    for (let day = 0; day < 4; day++) {
      time += DAY_MS
      const one = await delivery('delivered', to)
      expect(await take(one.id, report)).toBe('taken')
      expect((await look(one)).suppression).toBeUndefined()
    }
  })

  test('that is soft suppresses on the third day, for thirty days', async () => {
    const to = `${uniqueName('r')}@example.test`
    const seen: unknown[] = []
    for (let day = 0; day < 3; day++) {
      time += DAY_MS
      const [one, same] = [await delivery('delivered', to), await delivery('delivered', to)]
      await take(one.id, full)
      await take(same.id, full)
      seen.push((await look(one)).suppression?.expires_at?.getTime())
    }
    expect(seen).toEqual([undefined, undefined, time + 30 * DAY_MS])
  })

  test.each([
    ['counts although a relay had taken each mail', true],
    ['counts no more once a mail has arrived', false],
  ])('that is soft %s', async (_, bounces) => {
    const to = `${uniqueName('r')}@example.test`
    let last = await delivery('delivered', to)
    for (let day = 0; day < 3; day++) {
      time += DAY_MS
      const taken = await delivery('delivered', to)
      const clear = sql`update soft_bounces set cleared_by = coalesce(cleared_by, ${taken.emailId})`
      await sql`${clear} where email = ${to}`.execute(api.db)
      last = bounces ? taken : await delivery('delivered', to)
      await take(last.id, full)
    }
    expect((await look(last)).suppression !== undefined).toBe(bounces)
  })

  test('is recorded for the contact, and workers are woken only if there is one', async () => {
    const one = await delivery('delivered')
    await api.request('POST', '/v1/automation/events', { event_name: 'seen', email: one.to })
    api.woken.length = 0
    await take(one.id, full)
    expect(api.woken).toEqual(['dripline_mail_events'])
    await tellAll(api.deps)
    const path = `/v1/automation/contacts/${one.to}/events`
    const { body } = await api.request<{ events: object[] }>('GET', path)
    expect(body.events[0]).toMatchObject({
      event_name: 'email.bounced',
      properties: { email_id: one.emailId, type: 'Transient', subtype: 'MailboxFull' },
    })
    expect(api.woken).toEqual(['dripline_mail_events'])
  })
})

describe('a complaint', () => {
  test('about an email of no workflow suppresses (also over a bounce), and the email stays delivered', async () => {
    const one = await delivery('delivered')
    await api.db
      .insertInto('suppressions')
      .values({
        workspace_id: api.workspaceId,
        email: one.to,
        reason: 'bounce',
        source_id: null,
        created_at: new Date(time),
        expires_at: new Date(time + DAY_MS),
      })
      .execute()
    expect(await take(one.id, complaint)).toBe('taken')
    expect(await look(one)).toMatchObject({
      row: { state: 'delivered' },
      bounces: [],
      suppression: { reason: 'complaint', source_id: one.emailId, expires_at: null },
    })
  })

  test('is recorded for the contact, once, and workers are woken only if there is one', async () => {
    const [stranger, one] = [await delivery('delivered'), await delivery('delivered')]
    await api.request('POST', '/v1/automation/events', { event_name: 'seen', email: one.to })
    api.woken.length = 0
    await take(stranger.id, complaint)
    expect(api.woken).toEqual([])
    await take(one.id, complaint)
    await take(one.id, complaint)
    expect(api.woken).toContain('dripline_mail_events')
    await tellAll(api.deps)
    const path = `/v1/automation/contacts/${one.to}/events`
    const { body } = await api.request<{ events: { event_name: string }[] }>('GET', path)
    const complained = body.events.filter(({ event_name }) => event_name === 'email.complained')
    expect(complained).toMatchObject([{ properties: { email_id: one.emailId } }])
  })

  test('beside changes of the same audiences: no deadlock, and the counts are right', async () => {
    const ids: string[] = []
    for (const name of ['One', 'Two', 'Three']) {
      const { body } = await api.request<{ id: string }>('POST', '/v1/audiences', { name })
      ids.push(body.id)
    }
    const reported = await Promise.all(Array.from({ length: 6 }, () => delivery('delivered')))
    for (const { to } of reported) {
      await api.request('POST', '/v1/automation/events', { event_name: 'seen', email: to })
    }
    const join = (id: string) =>
      api.request('POST', `/v1/audiences/${id}/contacts/batch`, {
        contacts: reported.map(({ to }) => ({ email: to })),
      })
    for (const id of ids) await join(id)
    const leave = (id: string, email: string) =>
      api.request('DELETE', `/v1/audiences/${id}/contacts/${email}`)

    const answers = await Promise.all([
      ...reported.map(({ id }) => take(id, complaint)),
      ...reported.map(({ id }) => take(id, gone)),
      ...ids.toReversed().map(async (id) => (await join(id)).status),
      ...ids.map(async (id) => (await leave(id, reported[0]?.to ?? '')).status),
    ])
    expect(answers).toEqual([
      ...Array(12).fill('taken'),
      ...Array(3).fill(200),
      ...Array(3).fill(204),
    ])
    const { rows } = await sql<{ wrong: string }>`
      select a.name as wrong from audiences a where (contact_count, unsubscribers) <> (
        select count(*), count(*) filter (where not c.is_subscribed)
        from audience_contacts c where c.audience_id = a.id)
    `.execute(api.db)
    expect(rows).toEqual([])
    const left = await sql`
      select email from audience_contacts where is_subscribed and email <> ${reported[0]?.to}
    `.execute(api.db)
    expect(left.rows).toEqual([])
  })
})

describe('the mail that a Message-ID names', () => {
  const send = async (more: Record<string, unknown> = {}) => {
    const to = `${uniqueName('r')}@example.test`
    const mail = { from: 'a@sender.test', to, subject: 'S', text: 'T', ...more }
    const { body } = await api.request<{ id: string }>('POST', '/v1/emails', mail)
    const { message_id } = await api.db
      .selectFrom('emails')
      .select('message_id')
      .where('id', '=', body.id)
      .executeTakeFirstOrThrow()
    return { id: body.id, messageId: message_id }
  }

  test('is found when it had one recipient, by the whole Message-ID alone', async () => {
    const { id, messageId } = await send()
    const { id: delivery } = await api.db
      .selectFrom('deliveries')
      .select('id')
      .where('email_id', '=', id)
      .executeTakeFirstOrThrow()
    const named = { messageId, workspaceId: null }
    expect(await findSoleDelivery(api.db, named)).toBe(delivery)
    for (const other of [
      messageId.replace(/\.[\w-]{11}@/, '.AAAAAAAAAAA@'),
      messageId.replace('sender', 'other'),
      messageId.toLowerCase(),
      `${id}@sender.test`,
      '',
    ]) {
      const found = await findSoleDelivery(api.db, { ...named, messageId: other })
      expect([other, found]).toEqual([other, null])
    }
  })

  test.each(['cc', 'bcc'])('is not found when it had another recipient in %s', async (field) => {
    const { messageId } = await send({ [field]: `${uniqueName('o')}@example.test` })
    expect(await findSoleDelivery(api.db, { messageId, workspaceId: null })).toBeNull()
  })
})

describe('the mail that its client gave a Message-ID', () => {
  /** As if it had been submitted with that Message-ID. @returns its delivery */
  async function submitted(messageId: string, workspaceId: string = api.workspaceId) {
    const { id, emailId } = await delivery('delivered')
    await api.db
      .updateTable('emails')
      .set({ message_id: messageId, workspace_id: workspaceId as WorkspaceId })
      .where('id', '=', emailId)
      .execute()
    const source = { email_id: emailId, position: 0, content: Buffer.from('S') }
    await api.db.insertInto('email_sources').values(source).execute()
    return id
  }
  const find = (messageId: string, workspaceId: string | null) =>
    findSoleDelivery(api.db, { messageId, workspaceId })

  test('is found by it, with its workspace or without', async () => {
    const messageId = `${uniqueName('m')}@client.test`
    const id = await submitted(messageId)
    expect(await find(messageId, api.workspaceId)).toBe(id)
    expect(await find(messageId, null)).toBe(id)
    expect(await find(messageId, 'ws_other')).toBeNull()
    expect(await find(`x${messageId}`, api.workspaceId)).toBeNull()
    await submitted(messageId)
    expect(await find(messageId, api.workspaceId), 'two of the same workspace').toBeNull()
  })

  test('is never that of another workspace that gave its mail the same one', async () => {
    const { workspaceId: other } = await api.createKey({ workspaceName: 'other' })
    const { id: ours, emailId } = await delivery('delivered')
    const { message_id: made } = await api.db
      .selectFrom('emails')
      .select('message_id')
      .where('id', '=', emailId)
      .executeTakeFirstOrThrow()
    const given = `${uniqueName('m')}@client.test`
    const rows = [
      { messageId: made, own: ours },
      { messageId: given, own: await submitted(given) },
    ]
    for (const { messageId, own } of rows) {
      const theirs = await submitted(messageId, other)
      expect(await find(messageId, api.workspaceId)).toBe(own)
      expect(await find(messageId, other)).toBe(theirs)
      expect(await find(messageId, null)).toBeNull()
    }
  })
})

test('a domain is ours while some workspace sends from it', async () => {
  expect(await isSendingDomain(api.db, ['nobody.test', 'sender.test'])).toBe(true)
  expect(await isSendingDomain(api.db, ['nobody.test'])).toBe(false)
  await api.request('POST', '/v1/domains', { name: 'claimed.test' })
  expect(await isSendingDomain(api.db, ['claimed.test'])).toBe(false)
})
