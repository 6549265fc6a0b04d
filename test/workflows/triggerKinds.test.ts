// What starts executions beside events: a changed property, a new contact, audiences, and what becomes of a mail.
// Long because each kind of trigger is one case, and all share their helpers.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { tellOfComplaint } from '../../db/webhooks/complaints.ts'
import type { JsonObject } from '../../rules/json.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { openMail } from '../setup/openedMail.ts'
import { bringTo } from '../setup/states.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, patch, stepLines, newContact } = await createApiWithEngine()

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

  /** A workflow that sends one mail. */
  async function sender() {
    const eventName = uniqueName('event')
    const workflow_id = await flow(
      design({ start: onEvent(eventName), one: mail('One'), end: ['exit', {}] }, [
        ['start', 'one'],
        ['one', 'end'],
      ]),
    )
    return { eventName, workflow_id }
  }

  test('of one workflow start at the first time of each status', async () => {
    const { eventName, workflow_id } = await sender()
    const at = (status: string): [string, JsonObject] => [
      'trigger',
      { kind: 'email_event', workflow_id, status },
    ]
    const both = await flow(
      design({ sent: at('sent'), opened: at('opened'), end: ['exit', {}] }, [
        ['sent', 'end'],
        ['opened', 'end'],
      ]),
    )
    const email = newContact()
    const [id = ''] = await post(eventName, email)
    await engine().ended(id, 'COMPLETED')
    const opened = async (times: number) => {
      await openMail(api, { executionId: id, nodeId: 'one' })
      const seen = api.db.selectFrom('automation_events').select('id')
      const read = seen.where('email', '=', email).where('event_name', '=', 'email.opened')
      await eventually(async () => expect(await read.execute()).toHaveLength(times))
    }
    await opened(1)
    await sql`update email_events set at = at - interval '1 minute' where status = 'opened'`.execute(
      api.db,
    )
    await opened(2)
    expect(await startedBy(both, email)).toMatchObject([{ status: 'sent' }, { status: 'opened' }])
  })

  test('by hand and by a node it starts each time, since no mail is named', async () => {
    const status = 'clicked'
    const workflowId = await startsAt({ kind: 'email_event', status })
    const email = newContact()
    const byHand = () => api.request('POST', `/v1/workflows/${workflowId}/executions`, { email })
    expect((await byHand()).status).toBe(201)
    expect((await byHand()).status).toBe(201)
    const eventName = uniqueName('event')
    await flow(
      design(
        {
          start: onEvent(eventName),
          begin: ['start_workflow', { workflow_id: workflowId }],
          end: ['exit', {}],
        },
        [
          ['start', 'begin'],
          ['begin', 'end'],
        ],
      ),
    )
    for (const [id = ''] of [await post(eventName, email), await post(eventName, email)]) {
      await engine().ended(id, 'COMPLETED')
      expect((await stepLines(id))[1]).toBe('begin default')
    }
    expect(await startedBy(workflowId, email)).toHaveLength(4)
  })

  test('a start of before, whose event had no status, bars all of its mail', async () => {
    const { eventName, workflow_id } = await sender()
    const status = 'sent'
    const workflowId = await startsAt({ kind: 'email_event', workflow_id, status })
    const every = await startsAt({
      kind: 'email_event',
      workflow_id,
      status: 'opened',
      re_entry: { mode: 'every' },
    })
    const email = newContact()
    const [id = ''] = await post(eventName, email)
    await engine().ended(id, 'COMPLETED')
    expect(await startedBy(workflowId, email)).toHaveLength(1)
    await sql`update automation_events set properties = properties - 'status' where email = ${email}`.execute(
      api.db,
    )
    await sql`update workflow_triggers set event_name = 'email.opened' where workflow_id = ${workflowId}`.execute(
      api.db,
    )
    await openMail(api, { executionId: id, nodeId: 'one' })
    await eventually(async () => expect(await startedBy(every, email)).toHaveLength(1))
    expect(await startedBy(workflowId, email)).toHaveLength(1)
  })

  test('event.status is what became of the mail, for filters and steps', async () => {
    const { eventName, workflow_id } = await sender()
    const filter = { type: 'rule', field: 'event.status', operator: 'eq', value: 'sent' }
    const of = { kind: 'email_event', workflow_id, status: 'sent' }
    const filtered = await startsAt({ ...of, filter })
    const others = await startsAt({ ...of, filter: { ...filter, operator: 'neq' } })
    const email = newContact()
    const [id = ''] = await post(eventName, email)
    await engine().ended(id, 'COMPLETED')
    expect(await startedBy(filtered, email)).toMatchObject([{ status: 'sent' }])
    expect(await startedBy(others, email)).toEqual([])
  })

  test('starts when the mail is reported as spam', async () => {
    const { eventName, workflow_id } = await sender()
    const workflowId = await startsAt({ kind: 'email_event', workflow_id, status: 'complained' })
    const email = newContact()
    const [id = ''] = await post(eventName, email)
    await engine().ended(id, 'COMPLETED')
    const { id: emailId } = await api.db
      .selectFrom('emails')
      .select('id')
      .where('execution_id', '=', id)
      .executeTakeFirstOrThrow()
    const [deliveryId = 0] = await bringTo(api.db, { emailId }, 'delivered', new Date())
    const told = { deliveryId, emailId, email, at: new Date() }
    await transact(api.deps, ({ db }) => tellOfComplaint(db, api.workspaceId, told))
    await eventually(async () =>
      expect(await startedBy(workflowId, email)).toMatchObject([{ status: 'complained' }]),
    )
  })
})
