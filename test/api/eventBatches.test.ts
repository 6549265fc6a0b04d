// Events in bulk: one commit, each by the rules of one, in the order of each contact.
import { expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { tableCounts } from '../setup/tableCounts.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

const api = await createTestApi()
const { create } = createWorkflowClient(api)

interface Accepted {
  event_id: string
  event_name: string
  email: string
  executions: string[]
  deduplicated: boolean
}
interface Batch {
  events: Accepted[]
  errors: { index: number; message: string; code: string }[]
}

const post = (events: unknown, headers: Record<string, string> = {}) =>
  api.request<Batch>('POST', '/v1/automation/events/batch', { events }, headers)
const newEmail = () => `${uniqueName('c')}@example.test`
const contact = async (email: string) =>
  (await api.request('GET', `/v1/automation/contacts/${email}`)).body
const event = (change: object = {}) => ({ event_name: 'seen', email: newEmail(), ...change })

// A savepoint has an id of its own among the columns, so a trigger notes that of the whole transaction.
await api.pool.query(`
  create table written_by (event_id text, xact xid8);
  create function note_xact() returns trigger language plpgsql as
    $$ begin insert into written_by values (new.event_id, pg_current_xact_id()); return null; end $$;
  create trigger note after insert on automation_events for each row execute function note_xact()`)

/** How many transactions wrote the events. */
async function commitsOf(events: Accepted[]): Promise<number> {
  const { rows } = await api.pool.query<{ n: number }>(
    'select count(distinct xact)::int as n from written_by where event_id = any($1)',
    [events.map(({ event_id }) => event_id)],
  )
  return rows[0]?.n ?? 0
}

it('records each as if it came alone, in one commit', async () => {
  const name = uniqueName('starts')
  const flow = await create({ status: 'active', design: exitDesign(name) })
  const events = Array.from({ length: 250 }, (_, i) => event({ event_name: i % 2 ? name : 'seen' }))
  const { status, body } = await post(events)
  expect([status, body.errors]).toEqual([202, []])
  expect(body.events.map(({ email }) => email)).toEqual(events.map(({ email }) => email))
  expect(body.events.map(({ executions }) => executions.length)).toEqual(
    events.map(({ event_name }) => (event_name === name ? 1 : 0)),
  )
  expect(await commitsOf(body.events)).toBe(1)
  expect(flow).toBeTruthy()
  expect(await contact(events[3]?.email ?? '')).toMatchObject({ event_count: 1, last_event: name })
})

it('keeps the order of each contact, whose properties each event finds as the one before has left them', async () => {
  const email = newEmail()
  const events = Array.from({ length: 12 }, (_, i) => [
    event({
      email: i % 3 ? email : email.toUpperCase(),
      event_name: `n${i}`,
      contact_properties: { step: i },
    }),
    event(),
  ]).flat()
  const { body } = await post(events)
  expect(body.events).toHaveLength(24)
  expect(await contact(email)).toMatchObject({
    event_count: 12,
    last_event: 'n11',
    properties: { step: 11 },
  })
})

it('tells of those that are refused, and records the others', async () => {
  const [known, other] = [uniqueName('mine'), uniqueName('mine')]
  await post([event({ event_id: known })])
  const full = newEmail()
  await post([event({ email: full, contact_properties: { a: 'x'.repeat(200_000) } })])
  const good = [event(), event({ event_id: other }), event()]
  const { status, body } = await post([
    event({ event_name: 'email.sent' }),
    good[0],
    event({ event_id: known }),
    good[1],
    event({ email: full, contact_properties: { b: 'x'.repeat(100_000) } }),
    'nothing',
    event({ email: 'nobody' }),
    event({ event_id: other }),
    event({ timestamp: Date.now() + 48 * 3_600_000 }),
    good[2],
    null,
  ])
  expect(status).toBe(202)
  expect(body.events.map(({ email }) => email)).toEqual(good.map(({ email }) => email))
  expect(body.errors.map(({ index, code }) => [index, code])).toEqual([
    [0, 'reserved_event_name'],
    [2, 'event_id_reused'],
    [4, 'invalid_request'],
    [5, 'invalid_request'],
    [6, 'invalid_request'],
    [7, 'event_id_reused'],
    [8, 'invalid_request'],
    [10, 'invalid_request'],
  ])
  expect(body.errors[2]?.message).toMatch(/^contact_properties: merged into those of the contact/)
  expect(body.errors[4]?.message).toMatch(/^email must be an address/)
  // The event that was refused is not counted either.
  expect(await contact(full)).toMatchObject({ event_count: 1 })
})

it('records an event_id once, within a batch and between two', async () => {
  const [id, email] = [uniqueName('mine'), newEmail()]
  const twice = [event({ event_id: id, email }), event(), event({ event_id: id, email })]
  const first = await post(twice)
  expect(first.body.events.map(({ deduplicated }) => deduplicated)).toEqual([false, false, true])
  const before = await tableCounts(api)
  const again = await post([twice[0]])
  expect(again.body.events).toEqual([{ ...first.body.events[0], deduplicated: true }])
  expect(await tableCounts(api)).toEqual(before)
})

it('refuses a batch without events, with too many, or of another type', async () => {
  const before = await tableCounts(api)
  const many = Array.from({ length: 501 }, () => event())
  for (const events of [[], undefined, {}, 'x', many]) {
    const answer = await api.request('POST', '/v1/automation/events/batch', { events })
    expect([answer.status, answer.body]).toEqual([
      400,
      { error: expect.stringContaining('events'), code: 'invalid_request' },
    ])
  }
  expect(await tableCounts(api)).toEqual(before)
  const message = 'An event must be an object, not a string'
  expect((await post(['x', 'y'])).body).toMatchObject({
    events: [],
    errors: [{ message }, { message }],
  })
})

it('is done once with an Idempotency-Key', async () => {
  const headers = { 'idempotency-key': uniqueName('key') }
  const events = [event(), event({ event_name: 'contact.x' }), event()]
  const first = await post(events, headers)
  const before = await tableCounts(api)
  const again = await post(events, headers)
  expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([first.body, 'true'])
  expect(await tableCounts(api)).toEqual(before)
})

it('batches that share contacts, known and new, wait for each other', async () => {
  const emails = Array.from({ length: 60 }, newEmail)
  await post(emails.slice(0, 30).map((email) => event({ email })))
  const batches = Array.from({ length: 6 }, (_, n) => {
    const turned = [...emails.slice(n * 10), ...emails.slice(0, n * 10)]
    return n % 2 ? turned : turned.reverse()
  })
  const answers = await Promise.all(
    batches.map((some) => post(some.map((email) => event({ email })))),
  )
  for (const { status, body } of answers) expect([status, body.errors]).toEqual([202, []])
  expect(await contact(emails[0] ?? '')).toMatchObject({ event_count: 7 })
  expect(await contact(emails[59] ?? '')).toMatchObject({ event_count: 6 })
})
