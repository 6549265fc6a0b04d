// Test addresses in a lane whose transport takes nothing: what each name leads to, and what it leaves alone.
// Long because each name, each worker and each of what it must leave alone is tried with the same transport.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { MailTransport } from '../../mail/transport.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { uniqueName } from '../setup/unique.ts'
import { webhooksToldOf } from '../setup/webhookTold.ts'

const api = await createTestApi()
const { db, workspaceId } = api
await insertTestDomain(api, 'new.test', 'NOT_STARTED')
await insertTestDomain(api, 'sender.test')
await api.request('POST', '/v1/webhooks', { url: 'https://hooks.test/', events: ['*'] })

/** Has no room, as one whose relay rests, and whoever sends by it fails the test. */
const sent: string[] = []
const transport: MailTransport = {
  async send({ to }) {
    sent.push(to)
    return { kind: 'failed', phase: 'connect', error: 'nothing leaves' }
  },
  rooms: () => ({ known: new Map(), other: 0 }),
  close: async () => undefined,
}

const runLane = (
  config: { warmUp?: boolean; simulatorDomain?: string } = {},
  by: MailTransport = transport,
) =>
  createTestWorker(api, 'smtp://127.0.0.1:1', { transport: by, config }).own({ lane: 0, lanes: 1 })

const html = '<p><a href="mailto:a@b.test">A</a> <a href="https://shop.test/?a=1&amp;b=2">B</a></p>'
const mail = { from: 'Acme <hello@new.test>', subject: 'S', html }

async function accept(to: string | string[], over: object = {}): Promise<string> {
  const { status, body } = await api.request<{ id: string }>('POST', '/v1/emails', {
    ...mail,
    to,
    ...over,
  })
  expect(status).toBe(200)
  return body.id
}

const rowsOf = (emailId: string) =>
  db
    .selectFrom('deliveries')
    .select(['state', 'attempt', 'last_response'])
    .where('email_id', '=', emailId)
    .execute()

/** Waits until no delivery waits for an attempt. What is deferred is made due. */
const settled = (emailId: string) =>
  eventually(async () => {
    await db
      .updateTable('deliveries')
      .set({ next_at: new Date() })
      .where('email_id', '=', emailId)
      .where('state', '=', 'deferred')
      .execute()
    const open = await db
      .selectFrom('deliveries')
      .select('state')
      .where('email_id', '=', emailId)
      .where('settled_at', 'is', null)
      .execute()
    expect(open).toEqual([])
  })

/** What webhooks are told of an email after `email.sent`, in order. */
const toldOf = async (emailId: string) =>
  (await webhooksToldOf(db, emailId)).filter(({ type }) => type !== 'email.sent')

const PERMANENT = { bounce: { type: 'Permanent', subtype: 'General' } }

test.each([
  ['delivered', 'delivered', ['email.delivered'], {}],
  ['BOUNCED+label', 'bounced', ['email.bounced'], PERMANENT],
  ['complained', 'delivered', ['email.delivered', 'email.complained'], {}],
  ['suppressed', 'suppressed', ['email.suppressed'], {}],
  ['deferred', 'delivered', ['email.deferred', 'email.delivered'], {}],
  ['opened+1', 'delivered', ['email.delivered', 'email.opened'], {}],
  [
    'clicked+a+b',
    'delivered',
    ['email.delivered', 'email.clicked'],
    { link: 'https://shop.test/?a=1&b=2' },
  ],
  ['nosuch', 'bounced', ['email.bounced'], PERMANENT],
])('%s@ ends %s, and webhooks hear %s', async (local, state, types, last) => {
  await runLane()
  const address = `${local}@Simulator.test`
  await api.request('POST', '/v1/automation/events', { event_name: 'came', email: address })
  const id = await accept(`To Name <${address}>`)
  await settled(id)
  expect(await rowsOf(id)).toMatchObject([{ state }])
  const told = await toldOf(id)
  expect(told.map(({ type }) => type)).toEqual(types)
  const recipient = `${local}@simulator.test`
  expect(told.at(-1)?.data).toMatchObject({ ...last })
  expect(String(told.at(-1)?.data['recipient']).toLowerCase()).toBe(recipient.toLowerCase())
  const { body } = await api.request<{ recipient_statuses: { events: { status: string }[] }[] }>(
    'GET',
    `/v1/emails/${id}`,
  )
  const read = body.recipient_statuses[0]?.events.map(({ status }) => `email.${status}`)
  const shown = types
    .filter((type) => !['email.complained', 'email.deferred'].includes(type))
    .map((type) => (type === 'email.suppressed' ? 'email.bounced' : type))
  expect(read).toEqual(['email.sent', ...shown])
  // The contact's workflows hear what they hear of any mail: of what was suppressed nothing.
  const outbox = await db
    .selectFrom('outbox')
    .innerJoin('contacts', 'contacts.id', 'outbox.contact_id')
    .select('payload')
    .where('kind', '=', 'mail_event')
    .where('contacts.email', '=', recipient.toLowerCase())
    .orderBy('outbox.id')
    .execute()
  const heard = outbox.map(({ payload }) => `email.${(payload as { name: string }).name}`)
  const complained = types.includes('email.complained') ? ['email.complained'] : []
  expect(heard).toEqual(state === 'suppressed' ? [] : [...shown, ...complained])
})

test('nothing was sent, suppressed or unsubscribed by any of them', async () => {
  expect(sent).toEqual([])
  for (const table of ['suppressions', 'soft_bounces', 'opt_outs'] as const) {
    const { count } = await db
      .selectFrom(table)
      .select((e) => e.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    expect([table, Number(count)]).toEqual([table, 0])
  }
  const complaints = await db.selectFrom('complaints').selectAll().execute()
  expect(complaints).toMatchObject([{ workspace_id: workspaceId }])
})

test('attempts say what a test address has answered, and which there are', async () => {
  await runLane()
  const id = await accept(['deferred@simulator.test', 'hello@simulator.test'])
  await settled(id)
  const { body } = await api.request<{ attempts: object[] }>('GET', `/v1/emails/${id}/attempts`)
  const attempts = JSON.stringify(body)
  expect(attempts).toContain('451 4.3.0 deferred by a test address')
  expect(attempts).toContain('250 2.0.0 taken by a test address')
  for (const name of ['delivered@', 'bounced@', 'complained@', 'suppressed@', 'clicked@']) {
    expect(attempts).toContain(name)
  }
})

test.each([
  [
    'its text, without html',
    { html: undefined, text: 'See https://shop.test/x.' },
    'https://shop.test/x.',
  ],
  ['none: the domain of test addresses', { html: '<p>No link</p>' }, 'https://simulator.test/'],
  [
    'html whatever tracking says',
    { tracking: { opens: false, clicks: false } },
    'https://shop.test/?a=1&b=2',
  ],
])('a click follows the first link of %s', async (_name, over, link) => {
  await runLane()
  const id = await accept('clicked@simulator.test', over)
  await settled(id)
  expect((await toldOf(id)).at(-1)).toMatchObject({ type: 'email.clicked', data: { link } })
})

test('a click follows no link by which somebody unsubscribes, at the tracking host neither', async () => {
  await runLane()
  await sql`update domains set tracking_domain = 'click.new.test',
    record_states = record_states || '{"tracking": "SUCCESS"}' where name = 'new.test'`.execute(db)
  const own = '<a href="https://click.new.test/u/abc">leave</a>'
  const id = await accept('clicked@simulator.test', { html: `<p>${own} ${html}</p>` })
  await settled(id)
  const link = 'https://shop.test/?a=1&b=2'
  expect((await toldOf(id)).at(-1)).toMatchObject({ type: 'email.clicked', data: { link } })
})

test('who is on the suppression list gets nothing, whatever the name', async () => {
  await runLane()
  const email = 'opened+left@simulator.test'
  await api.request('POST', '/v1/suppressions', { email })
  const id = await accept(email)
  await settled(id)
  expect((await toldOf(id)).map(({ type }) => type)).toEqual(['email.suppressed'])
  await api.request('DELETE', `/v1/suppressions/${email}`)
})

test('they take no place in the warm-up of their domain', async () => {
  const domainId = await insertTestDomain(api, 'cold.test')
  await db
    .updateTable('domains')
    .set({ is_warmed_up: false, warmed_up_at: null })
    .where('id', '=', domainId)
    .execute()
  await runLane({ warmUp: true })
  const id = await accept('delivered@simulator.test', { from: 'a@cold.test' })
  await settled(id)
  const row = await db
    .selectFrom('deliveries')
    .select(['slot_day', 'state'])
    .where('email_id', '=', id)
    .executeTakeFirstOrThrow()
  expect(row).toEqual({ slot_day: null, state: 'delivered' })
})

describe('a worker with another SIMULATOR_DOMAIN', () => {
  /** What left, by a transport that takes all. */
  const left: string[] = []
  const open: MailTransport = {
    ...transport,
    async send({ to }) {
      left.push(to)
      return {
        kind: 'rejected',
        phase: 'rcpt',
        code: 550,
        enhanced: '5.0.0',
        reply: '550 5.0.0 no',
      }
    },
    rooms: () => ({ known: new Map(), other: Number.POSITIVE_INFINITY }),
  }
  const runOther = () => runLane({ simulatorDomain: 'other.test' }, open)

  test('answers for what was accepted as a test, and sends what was not', async () => {
    await runOther()
    const id = await accept(['delivered@simulator.test', 'Bounced+1@Simulator.test'])
    await settled(id)
    expect((await rowsOf(id)).map(({ state }) => state).sort()).toEqual(['bounced', 'delivered'])
    const clicked = await accept('clicked@simulator.test', { html: '<p>No link</p>' })
    await settled(clicked)
    const link = 'https://simulator.test/'
    expect((await toldOf(clicked)).at(-1)).toMatchObject({ data: { link } })
    expect(left).toEqual([])
    const mailed = await accept('delivered@other.test', { from: 'a@sender.test' })
    // Its domain has no key that signs, so it ends as a mail that could not be composed: the lane has not answered.
    await eventually(async () => {
      const [row] = await rowsOf(mailed)
      expect(row).toMatchObject({ state: 'deferred' })
    })
  })

  test('decides by its own setting where a process of before has written the row', async () => {
    const id = await accept('delivered@simulator.test')
    await sql`update deliveries set simulated = null where email_id = ${id}`.execute(db)
    await runLane()
    await settled(id)
    expect(await rowsOf(id)).toMatchObject([{ state: 'delivered' }])
  })
})

test('the claim of a worker that does not know them passes over them, and over no other', async () => {
  const tested = await accept('delivered@simulator.test')
  const mailed = await accept('ada@example.com', { from: 'a@sender.test' })
  const claimOfBefore = async (emailId: string) => {
    const { rows } = await sql<{ id: number }>`
      update deliveries d set state = 'sending', attempt = attempt + 1, lease_token = gen.token,
        lease_until = now() + interval '1 minute', fence = gen.token
      from (select gen_random_uuid() as token) gen where d.email_id = ${emailId} returning d.id`.execute(
      db,
    )
    return rows.length
  }
  expect([await claimOfBefore(tested), await claimOfBefore(mailed)]).toEqual([0, 1])
  await runLane()
  await settled(tested)
  // Deferred and claimed once more, it is passed over still.
  const later = await accept('deferred@simulator.test')
  await eventually(async () => expect(await rowsOf(later)).toMatchObject([{ state: 'deferred' }]))
  expect(await claimOfBefore(later)).toBe(0)
  await settled(later)
})

test('four hundred of them at once, with two workers that take the lane from each other', {
  timeout: 180_000,
}, async () => {
  const ids: string[] = []
  const first = await runLane()
  for (let n = 0; n < 8; n++) {
    const to = Array.from({ length: 50 }, (_, i) => `opened+${n}-${i}@simulator.test`)
    ids.push(await accept(to, { tags: { run: uniqueName('run') } }))
    if (n === 3) await first.stop()
    if (n === 3 || n === 6) await runLane()
  }
  for (const id of ids) await settled(id)
  const rows = await db
    .selectFrom('email_events')
    .select((e) => ['status', e.fn.countAll<number>().as('count')])
    .where('email_id', 'in', ids)
    .groupBy('status')
    .orderBy('status')
    .execute()
  const counts = rows.map(({ status, count }) => [status, Number(count)])
  expect(counts).toEqual([
    ['delivered', 400],
    ['opened', 400],
    ['sent', 400],
  ])
})
