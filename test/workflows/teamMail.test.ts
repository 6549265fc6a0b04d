// Mail of a node with copies for the team, and mail that goes to the team instead of the contact.
import { expect, test } from 'vitest'
import { insertTestDomain } from '../setup/api.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, stepLines, newContact } = await createApiWithEngine()

/** Makes a workflow that sends this mail, and another one if it does not fail. @returns how to run it for a contact */
async function sending(data: Record<string, unknown>, settings: object = {}) {
  const eventName = uniqueName('event')
  const graph = design(
    {
      start: onEvent(eventName),
      pause: ['wait_for_event', { event_name: `${eventName}.on` }],
      hello: mail('Hello', data),
      failed: ['exit', { outcome: 'failed' }],
      asked: [
        'condition',
        { condition: { type: 'email_activity', node_id: 'hello', status: 'sent' } },
      ],
      end: ['exit', {}],
    },
    [
      ['start', 'pause'],
      ['pause', 'hello', 'received'],
      ['hello', 'asked'],
      ['hello', 'failed', 'failed'],
      ['asked', 'end', 'true'],
      ['asked', 'end', 'false'],
    ],
  )
  const workflowId = await flow({ ...graph, settings })
  const run = async (email = newContact(), meanwhile: () => Promise<unknown> = async () => 0) => {
    const [id = ''] = await post(eventName, email)
    await engine().waiting(id, 'pause')
    await meanwhile()
    await post(`${eventName}.on`, email)
    await engine().ended(id, 'COMPLETED')
    const stored = await api.db
      .selectFrom('emails')
      .selectAll()
      .where('execution_id', '=', id)
      .executeTakeFirst()
    const deliveries = await api.db
      .selectFrom('deliveries')
      .select(['recipient', 'to_team', 'marketing', 'address_hmac'])
      .where('email_id', '=', stored?.id ?? '')
      .orderBy('id')
      .execute()
    const [, , hello, after] = await stepLines(id)
    return { id, email, stored, deliveries, steps: [hello, after] }
  }
  return { workflowId, run }
}

/** Names of the events that a contact has, and of the mail that they tell of. */
const eventsOf = async (email: string) => {
  const rows = await api.db
    .selectFrom('automation_events')
    .select('event_name')
    .where('email', '=', email)
    .where('event_name', 'like', 'email.%')
    .execute()
  return rows.map(({ event_name }) => event_name)
}

/** Makes somebody a contact. */
async function contact(email: string): Promise<string> {
  await api.request('POST', '/v1/automation/events', { event_name: 'seen', email })
  return email
}

const team = () => `${uniqueName('team')}@sender.test`

test('a copy: the contact and each of the team have a delivery of one mail, and the contact alone is told', async () => {
  const [one, two] = [await contact(team()), team()]
  const { run } = await sending({ cc: [`Sales <${one}>`, two, one.toUpperCase()] })
  const { email, stored, deliveries, steps } = await run()
  expect(stored?.to).toEqual([email])
  expect(stored?.cc).toEqual([`Sales <${one}>`, two, one.toUpperCase()])
  expect(stored?.category).toBe('marketing')
  const hmac = api.deps.addressMac(api.workspaceId, email)
  expect(deliveries).toEqual([
    { recipient: email, to_team: false, marketing: true, address_hmac: hmac },
    { recipient: one, to_team: true, marketing: true, address_hmac: hmac },
    { recipient: two, to_team: true, marketing: true, address_hmac: hmac },
  ])
  expect(steps).toEqual(['hello default', 'asked true mail of hello sent is true'])
  expect(await eventsOf(email)).toEqual(['email.sent'])
  expect(await eventsOf(one)).toEqual([])
})

test('to the team: a contact who left, is suppressed and has had enough holds nothing back, and hears nothing', async () => {
  const boss = team()
  const { run, workflowId } = await sending(
    {
      to: [boss, 'Sales <sales@sender.test>'],
      html: '<a href="{{ unsubscribe_url }}">Leave</a> {{ contact.email }}',
      category: 'marketing',
      on_suppressed: 'fail',
    },
    {
      frequency_cap: { count: 1, per_ms: 3_600_000, on_hit: 'skip' },
      on_unsubscribe: 'skip_sends',
    },
  )
  const email = newContact()
  const first = await run(email)
  expect(first.steps).toEqual(['hello default', 'asked false mail of hello sent is false'])
  const second = await run(email, async () => {
    await api.request('POST', '/v1/suppressions', { email })
    await api.db
      .insertInto('opt_outs')
      .values({
        id: uniqueName('opt'),
        workspace_id: api.workspaceId,
        scope: 'workspace',
        target_id: '',
        address_hmac: api.deps.addressMac(api.workspaceId, email),
        source: 'link',
        unconfirmed_email_id: null,
        created_at: new Date(),
      })
      .execute()
  })
  expect(second.steps).toEqual(first.steps)
  const { stored, deliveries } = second
  expect(stored).toMatchObject({
    to: [boss, 'Sales <sales@sender.test>'],
    cc: [],
    category: 'transactional',
    unsubscribe_token: null,
    workflow_id: workflowId,
    node_id: 'hello',
  })
  expect(stored?.html).toMatch(/^<a href="[^"]*\/u\/copy">Leave<\/a> /)
  expect(stored?.html).toContain(email)
  expect(deliveries.map(({ recipient }) => recipient)).toEqual([boss, 'sales@sender.test'])
  for (const one of deliveries) {
    expect(one).toMatchObject({ to_team: true, marketing: false, address_hmac: null })
  }
  expect(await eventsOf(email)).toEqual([])

  const listed = await api.request<{ emails: { recipient?: string; events: unknown[] }[] }>(
    'GET',
    `/v1/executions/${second.id}/emails`,
  )
  expect(listed.body.emails).toHaveLength(1)
  expect(listed.body.emails[0]?.events).toHaveLength(1)
})

test('to the team: nothing of the contact counts where they are of the team themselves', async () => {
  const own = await contact(team())
  const { run } = await sending({ to: own })
  const { steps, deliveries } = await run(own)
  expect(steps).toContain('asked false mail of hello sent is false')
  expect(deliveries).toMatchObject([{ recipient: own, to_team: true }])
  expect(await eventsOf(own)).toEqual([])
})

test.each(['to', 'cc'])(
  '%s: a domain that is verified no more fails the step, and nothing is sent',
  async (key) => {
    const name = `${uniqueName('team')}.test`
    const id = await insertTestDomain(api, name)
    const { run } = await sending({ [key]: ['sales@sender.test', `ada@${name}`] })
    expect((await run()).steps).toContain('hello default')
    await api.db.updateTable('domains').set({ status: 'FAILED' }).where('id', '=', id).execute()
    const after = await run()
    expect(after.steps[0]).toBe(`hello failed domain ${name} is not verified`)
    expect(after.stored).toBeUndefined()
    await api.request('DELETE', `/v1/domains/${id}`)
    expect((await run()).steps[0]).toBe(
      `hello failed no domain of this workspace for the ${key} address`,
    )
  },
)

test('activation names each address on a domain that may not send', async () => {
  const data = { to: 'a@other.test', cc: ['b@sender.test', 'c@other.test'] }
  const graph = design({ start: onEvent('begun'), hello: mail('Hello', data) }, [
    ['start', 'hello'],
  ])
  const answer = await api.request('POST', '/v1/workflows', {
    name: 'Foreign',
    status: 'active',
    design: graph,
  })
  expect(answer.status).toBe(400)
  expect(answer.text).toContain('nodes.1.data.to')
  expect(answer.text).toContain('nodes.1.data.cc.1')
  expect(answer.text).not.toContain('nodes.1.data.cc.0')
})
