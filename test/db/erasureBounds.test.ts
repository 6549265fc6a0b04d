// What is an erased contact's and what comes later: the lock of the contact and the clock of Postgres say so, and what goes leaves no trace elsewhere.
import { sql } from 'kysely'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { uniqueName } from '../setup/unique.ts'

const clock = { ahead_ms: 0 }
const api = await createTestApi({ now: () => new Date(Date.now() + clock.ahead_ms) })
const { db, deps } = api

beforeAll(async () => {
  const body = { url: 'https://hooks.example.test/in', events: ['*'] }
  await api.request('POST', '/v1/webhooks', body)
})

/** A contact, and an audience without them. */
async function someone() {
  clock.ahead_ms = 0
  const email = `${uniqueName('ada')}@person.test`
  const name = uniqueName('adalbertina')
  const key = uniqueName('key')
  const { body } = await api.request('POST', '/v1/audiences', { name: 'All' })
  const audience = String(body['id'])
  await api.request('POST', '/v1/automation/events', { event_name: 'seen', email })
  const join = () =>
    api.request(
      'POST',
      `/v1/audiences/${audience}/contacts`,
      { email, first_name: name },
      { 'idempotency-key': key },
    )
  const erase = async () => (await api.request('DELETE', `/v1/automation/contacts/${email}`)).status
  return { email, name, audience, join, erase }
}

/** Where the first name of somebody who was added stands. */
const whole = (email: string, name: string) => [
  ...['audience_contacts.email', 'idempotency_keys.body', 'webhook_events.data'].map(
    (place) => `${place} ${email}`,
  ),
  ...['audience_contacts.first_name', 'idempotency_keys.body', 'webhook_events.data'].map(
    (place) => `${place} ${name}`,
  ),
]

/** Somebody else holds a row until they are told to end. */
async function hold(query: ReturnType<typeof sql>) {
  const held = await db.startTransaction().execute()
  let isOpen = true
  const end = async () => {
    if (isOpen) await held.rollback().execute()
    isOpen = false
  }
  onTestFinished(end)
  await query.execute(held)
  return end
}

test('who is added while the erasure waits for the contact is gone when it is over, and leaves no trace', async () => {
  const { email, name, join, erase } = await someone()
  const end = await hold(sql`select from contacts where email = ${email} for update`)
  const joining = join()
  await untilWaiting(db, 1)
  const erasing = erase()
  await untilWaiting(db, 2)
  await end()
  expect((await joining).status).toBe(201)
  expect(await erasing).toBe(204)
  expect(await traces(db, name)).not.toEqual([])
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await traces(db, email, name)).toEqual([])
})

test('who is added by a request that still waited for the audience at the erasure has come later, wholly', async () => {
  const { email, name, audience, join, erase } = await someone()
  const end = await hold(sql`select from audiences where id = ${audience} for update`)
  const joining = join()
  await untilWaiting(db, 1)
  expect(await erase()).toBe(204)
  await end()
  expect((await joining).status).toBe(201)
  expect(await carryOnErasing(deps)).toBe('completed')
  expect((await traces(db, email, name)).sort()).toEqual(whole(email, name).sort())
})

test.each([-4_000, 4_000])(
  'a process whose clock is %i ms ahead changes nothing of what was theirs and what comes later',
  async (ahead_ms) => {
    const before = await someone()
    clock.ahead_ms = ahead_ms
    expect((await before.join()).status).toBe(201)
    clock.ahead_ms = 0
    expect(await before.erase()).toBe(204)
    expect(await carryOnErasing(deps)).toBe('completed')
    expect(await traces(db, before.email, before.name)).toEqual([])

    const after = await someone()
    expect(await after.erase()).toBe(204)
    clock.ahead_ms = ahead_ms
    expect((await after.join()).status).toBe(201)
    clock.ahead_ms = 0
    expect(await carryOnErasing(deps)).toBe('completed')
    const { email, name } = after
    expect((await traces(db, email, name)).sort()).toEqual(whole(email, name).sort())
  },
)
