// An event_id of the caller's own: it is recorded once, and a guessed one tells nobody of another's event.
import { expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { tableCounts } from '../setup/tableCounts.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

const api = await createTestApi()
const { create } = createWorkflowClient(api)

interface Accepted {
  event_id: string
  email: string
  executions: string[]
  deduplicated: boolean
}

const post = (body: unknown) => api.request<Accepted>('POST', '/v1/automation/events', body)
const newEmail = () => `${uniqueName('c')}@example.test`
const contact = (email: string) => api.request('GET', `/v1/automation/contacts/${email}`)

/** Makes an active workflow that the event starts. */
const flowOn = (eventName: string) => create({ status: 'active', design: exitDesign(eventName) })

it('records an event_id only once: a repetition gets the same answer, and starts and counts nothing', async () => {
  const eventName = uniqueName('deduped')
  await flowOn(eventName)
  const email = newEmail()
  const event = { event_name: eventName, email, event_id: uniqueName('mine') }
  const first = await post(event)
  const before = await tableCounts(api)
  const again = await post({ ...event, properties: { other: 1 }, email: email.toUpperCase() })
  expect(again.status).toBe(202)
  expect(again.body).toEqual({ ...first.body, deduplicated: true })
  expect(first.body).toMatchObject({ event_id: event.event_id, deduplicated: false })
  expect(first.body.executions).toHaveLength(1)
  expect(await tableCounts(api)).toEqual(before)
  expect((await contact(email)).body).toMatchObject({ event_count: 1 })
})

it('tells nobody of an event who only knows its event_id, and changes nothing', async () => {
  const [email, event_name] = [newEmail(), uniqueName('private')]
  await flowOn(event_name)
  const given = { event_name, email, event_id: uniqueName('guessed') }
  const first = await post(given)
  const unnamed = await post({ event_name: 'seen', email })
  const before = await tableCounts(api)
  const { token } = await api.createKey({ permission: 'events_only' })
  const headers = { authorization: `Bearer ${token}` }
  for (const [event_id, change] of [
    [given.event_id, { email: newEmail() }],
    [given.event_id, { event_name: uniqueName('other') }],
    [given.event_id, { email: newEmail(), event_name: 'seen', contact_properties: { a: 1 } }],
    // An event without an event_id can be named by ours.
    [unnamed.body.event_id, {}],
  ] as const) {
    const body = { ...given, event_id, ...change }
    const answer = await api.request('POST', '/v1/automation/events', body, headers)
    expect([answer.status, answer.body]).toEqual([
      409,
      {
        error: `event_id: ${JSON.stringify(event_id)} is that of an event with another event_name or email`,
        code: 'event_id_reused',
      },
    ])
  }
  expect(await tableCounts(api)).toEqual(before)
  expect((await post(given)).body).toEqual({ ...first.body, deduplicated: true })
})

it('starts one execution for many concurrent events with the same event_id', async () => {
  const eventName = uniqueName('raced')
  await flowOn(eventName)
  const event = { event_name: eventName, event_id: uniqueName('race') }
  const emails = Array.from({ length: 4 }, newEmail)
  const answers = await Promise.all(
    Array.from({ length: 52 }, (_, i) => post({ ...event, email: emails[i % 4] })),
  )
  const taken = answers.filter((answer) => answer.status === 202)
  const winner = taken[0]?.body.email ?? ''
  // Thirteen were for the address that came first; the others learn nothing of it.
  expect(answers.map((answer) => answer.status)).toEqual(
    Array.from({ length: 52 }, (_, i) => (emails[i % 4] === winner ? 202 : 409)),
  )
  expect(taken.filter((answer) => !answer.body.deduplicated)).toHaveLength(1)
  expect(new Set(taken.map((answer) => answer.body.executions.join()))).toHaveLength(1)
  const found = await Promise.all(emails.map(contact))
  expect(found.filter((answer) => answer.status === 200)).toHaveLength(1)
})
