// `contact.updated` is told of each change of a contact's properties, whoever makes it and whatever the clocks say.
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { uniqueName } from '../setup/unique.ts'

const clock = { ms: Date.now() }
const api = await createTestApi({ now: () => new Date(clock.ms) })
const { db } = api
const { body: hook } = await api.request<{ id: string }>('POST', '/v1/webhooks', {
  url: 'https://hooks.example.test/in',
  events: ['contact.*'],
})

/** What the webhook was told since the beginning of the test, in order. */
const types = async () => {
  const { rows } = await sql<{ type: string }>`
    select e.type from webhook_deliveries d join webhook_events e on e.id = d.event_id
    where d.webhook_id = ${hook.id} order by d.id`.execute(db)
  return rows.map(({ type }) => type)
}
beforeEach(async () => {
  await sql`delete from webhook_deliveries`.execute(db)
})

const address = () => `${uniqueName('c')}@example.test`
const asked = (email: string, plan?: string) => ({
  event_name: 'asked',
  email,
  ...(plan === undefined ? {} : { contact_properties: { plan } }),
})
const post = (email: string, plan?: string) =>
  api.request('POST', '/v1/automation/events', asked(email, plan))
const postAll = (events: object[]) => api.request('POST', '/v1/automation/events/batch', { events })
const patch = (email: string, plan: string) =>
  api.request('PATCH', `/v1/automation/contacts/${email}`, { properties: { plan } })
const planOf = async (email: string) =>
  (await api.request('GET', `/v1/automation/contacts/${email}`)).body['properties']

describe('an event', () => {
  it.each([0, 50, -50])('that comes %i ms later tells of what it changes', async (ms) => {
    const email = address()
    await post(email, 'pro')
    clock.ms += ms
    await post(email, 'free')
    expect(await planOf(email)).toEqual({ plan: 'free' })
    expect(await types()).toEqual(['contact.created', 'contact.updated'])
  })

  it('that changes nothing but counts tells nothing', async () => {
    const email = address()
    await post(email, 'pro')
    clock.ms += 50
    await post(email)
    await post(email, 'pro')
    await postAll([asked(email), asked(email, 'pro')])
    expect(await types()).toEqual(['contact.created'])
  })

  it.each([1, 3])('of a batch with %i contacts tells of each', async (count) => {
    const emails = Array.from({ length: count }, address)
    await postAll(emails.map((email) => asked(email, 'pro')))
    expect(await types()).toEqual(emails.map(() => 'contact.created'))
    clock.ms += 50
    await postAll(emails.map((email) => asked(email, 'free')))
    for (const email of emails) expect(await planOf(email)).toEqual({ plan: 'free' })
    expect((await types()).slice(count)).toEqual(emails.map(() => 'contact.updated'))
  })

  it('of the batch that makes the contact tells no more than that it was made', async () => {
    const email = address()
    await postAll([asked(email, 'pro'), asked(email), asked(email, 'free')])
    expect(await planOf(email)).toEqual({ plan: 'free' })
    expect(await types()).toEqual(['contact.created'])
  })
})

it.each([0, 500])(
  'PATCH by a process whose clock is %i ms behind that of the last writer tells of it',
  async (ms) => {
    const email = address()
    await post(email)
    clock.ms -= ms
    expect((await patch(email, 'free')).status).toBe(200)
    expect(await types()).toEqual(['contact.created', 'contact.updated'])
  },
)
