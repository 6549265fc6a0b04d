// What starts executions beside events: a changed property, a new contact, audiences, and what becomes of a mail.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../rules/json.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { openMail } from '../setup/openedMail.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, patch, newContact } = await createApiWithEngine()

/** A workflow that begins by a trigger and ends at once. @returns its id */
const startsAt = (data: JsonObject) =>
  flow(design({ start: ['trigger', data], end: ['exit', {}] }, [['start', 'end']]))

/** What executions of a workflow for a contact have as `event.*`, in their order. */
const startedBy = async (workflowId: string, email: string) => {
  const rows = await api.db
    .selectFrom('executions as x')
    .leftJoin('automation_events as a', 'a.id', 'x.trigger_event_id')
    .select(['x.properties', 'a.properties as of_event'])
    .where('x.workflow_id', '=', workflowId)
    .where('x.email', '=', email)
    .orderBy('x.id')
    .execute()
  return rows.map((row) => row.properties ?? row.of_event)
}

const bring = (email: string, contact_properties: JsonObject) =>
  api.request('POST', '/v1/automation/events', { event_name: 'seen', email, contact_properties })

describe('property_changed', () => {
  test('starts at a change of value by PATCH, event and node, and at nothing else', async () => {
    const path = `plan_${uniqueName('p').replaceAll('-', '_')}`
    const workflowId = await startsAt({ kind: 'property_changed', path })
    const email = newContact()
    await bring(email, { [path]: 'free' })
    await bring(email, { [path]: 'free', other: 1 })
    await patch(email, { [path]: 'pro' })
    await patch(email, { [path]: 'pro' })
    await patch(email, { [path]: null })
    const eventName = uniqueName('event')
    await flow(
      design(
        {
          start: onEvent(eventName),
          set: ['update_contact', { set: { [path]: 'team' } }],
          hello: mail('Hello'),
          end: ['exit', {}],
        },
        [
          ['start', 'set'],
          ['set', 'hello'],
          ['hello', 'end'],
        ],
      ),
    )
    const [id = ''] = await post(eventName, email)
    await engine().ended(id, 'COMPLETED')
    expect(await startedBy(workflowId, email)).toEqual([
      { path, to: 'free' },
      { path, from: 'free', to: 'pro' },
      { path, from: 'pro' },
      { path, to: 'team' },
    ])
  })

  test('with from and to starts at that change alone', async () => {
    const path = 'address.city'
    const change = { kind: 'property_changed', path }
    const both = await startsAt({ ...change, from: 'Rome', to: 'Oslo' })
    const to = await startsAt({ ...change, to: 'Oslo' })
    const email = newContact()
    await bring(email, { address: { city: 'Oslo' } })
    await patch(email, { address: { city: 'Rome' } })
    await patch(email, { address: { city: 'Oslo' } })
    await patch(email, { address: { city: 'Paris' } })
    await patch(email, { address: null })
    expect(await startedBy(both, email)).toEqual([{ path, from: 'Rome', to: 'Oslo' }])
    expect(await startedBy(to, email)).toEqual([
      { path, to: 'Oslo' },
      { path, from: 'Rome', to: 'Oslo' },
    ])
  })

  test('reads what it changed from and to, and the contact, in its filter', async () => {
    const path = 'score'
    const filter = {
      type: 'and',
      rules: [
        { type: 'rule', field: 'event.to', operator: 'gte', value: 10 },
        { type: 'rule', field: 'properties.vip', operator: 'is_true' },
      ],
    }
    const workflowId = await startsAt({ kind: 'property_changed', path, filter })
    const email = newContact()
    await bring(email, { score: 1, vip: true })
    await patch(email, { score: 10 })
    await patch(email, { score: 11, vip: false })
    expect(await startedBy(workflowId, email)).toEqual([{ path, from: 1, to: 10 }])
  })
})

test('contact_created starts once, at the first event of an address', async () => {
  const email = newContact()
  const filter = { type: 'rule', field: 'contact.email', operator: 'eq', value: email }
  const workflowId = await startsAt({ kind: 'contact_created', filter })
  await post('first', email)
  await post('second', email)
  await patch(email, { a: 1 })
  expect(await startedBy(workflowId, email)).toEqual([{}])
})

test('audience_joined and audience_left start at that audience alone', async () => {
  const audience = async (name: string) =>
    (await api.request<{ id: string }>('POST', '/v1/audiences', { name })).body.id
  const [news, other] = [await audience('News'), await audience('Other')]
  const joined = await startsAt({ kind: 'audience_joined', audience_id: news })
  const left = await startsAt({ kind: 'audience_left', audience_id: news })
  const email = newContact()
  await post('known', email)
  const contacts = (id: string) => `/v1/audiences/${id}/contacts`
  await api.request('POST', contacts(other), { email })
  await api.request('POST', contacts(news), { email })
  await api.request('POST', contacts(news), { email, first_name: 'Ada' })
  await api.request('PATCH', `${contacts(news)}/${email}`, { is_subscribed: false })
  expect(await startedBy(joined, email)).toMatchObject([{ audience_id: news }])
  expect(await startedBy(left, email)).toEqual([])
  await api.request('DELETE', `${contacts(other)}/${email}`)
  await api.request('DELETE', `${contacts(news)}/${email}`)
  expect(await startedBy(left, email)).toMatchObject([{ audience_id: news }])
})

describe('email_event', () => {
  test('starts at the first open of each mail of that workflow and node', async () => {
    const eventName = uniqueName('event')
    const workflowId = await flow(
      design({ start: onEvent(eventName), one: mail('One'), two: mail('Two'), end: ['exit', {}] }, [
        ['start', 'one'],
        ['one', 'two'],
        ['two', 'end'],
      ]),
    )
    const trigger = {
      kind: 'email_event',
      status: 'opened',
      workflow_id: workflowId,
      node_id: 'one',
    }
    const first = await startsAt(trigger)
    const each = await startsAt({ ...trigger, re_entry: { mode: 'every' } })
    const clicked = await startsAt({ ...trigger, status: 'clicked' })
    const email = newContact()
    const ids = [...(await post(eventName, email)), ...(await post(eventName, email))]
    for (const id of ids) await engine().ended(id, 'COMPLETED')
    const [one = '', two = ''] = ids
    for (const executionId of [one, two]) await openMail(api, { executionId, nodeId: 'one' })
    await openMail(api, { executionId: one, nodeId: 'two' })
    // Within some seconds it would be taken for the same open.
    await sql`update email_events set at = at - interval '1 minute' where status = 'opened'`.execute(
      api.db,
    )
    await openMail(api, { executionId: one, nodeId: 'one' })
    await eventually(async () => expect(await startedBy(each, email)).toHaveLength(3))
    expect(await startedBy(first, email)).toMatchObject(
      [one, two].map((execution_id) => ({ execution_id, node_id: 'one', subject: 'One' })),
    )
    expect(await startedBy(clicked, email)).toEqual([])
  })
})
