// The node that unsubscribes a contact: from its workflow, or from all marketing mail.
import { expect, test } from 'vitest'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, stepLines, newContact } = await createApiWithEngine()

/** Sends marketing mail, waits for `leave.now`, unsubscribes, and goes on with mail of both categories. */
async function leavingFlow(data: object, settings: object = {}) {
  const eventName = uniqueName('event')
  const workflowId = await flow({
    ...design(
      {
        start: onEvent(eventName),
        first: mail('First'),
        wait: ['wait_for_event', { event_name: 'leave.now' }],
        leave: ['unsubscribe', { ...data }],
        news: mail('News'),
        receipt: mail('Receipt', { category: 'transactional' }),
        end: ['exit', {}],
      },
      [
        ['start', 'first'],
        ['first', 'wait'],
        ['wait', 'leave', 'received'],
        ['leave', 'news'],
        ['news', 'receipt'],
        ['receipt', 'end'],
      ],
    ),
    settings,
  })
  return { workflowId, eventName }
}

/** A workflow that sends marketing mail, then waits for `later`, and sends another. */
async function newsFlow() {
  const eventName = uniqueName('event')
  await flow(
    design(
      {
        start: onEvent(eventName),
        first: mail('Other first'),
        wait: ['wait_for_event', { event_name: 'later' }],
        news: mail('Other news'),
        receipt: mail('Other receipt', { category: 'transactional' }),
        end: ['exit', {}],
      },
      [
        ['start', 'first'],
        ['first', 'wait'],
        ['wait', 'news', 'received'],
        ['news', 'receipt'],
        ['receipt', 'end'],
      ],
    ),
  )
  return eventName
}

/** Subject and state of the deliveries of executions, in their order. */
const deliveriesOf = async (...ids: string[]) => {
  const rows = await api.db
    .selectFrom('emails')
    .innerJoin('deliveries', 'deliveries.email_id', 'emails.id')
    .select(['emails.subject', 'deliveries.state'])
    .where('emails.execution_id', 'in', ids)
    .orderBy('emails.id')
    .execute()
  return rows.map(({ subject, state }) => `${subject} ${state}`)
}

async function start(eventName: string, email: string) {
  const [id = ''] = await post(eventName, email)
  await engine().waiting(id, 'wait')
  return id
}

test('leaving the workflow ends its executions, and none of its marketing mail goes any more', async () => {
  const { eventName } = await leavingFlow({})
  const email = newContact()
  const [one, two] = [await start(eventName, email), await start(eventName, email)]
  const other = await start(await newsFlow(), email)
  await post('leave.now', email)
  for (const id of [one, two]) {
    const { cancellation_reason } = await engine().ended(id, 'CANCELLED')
    expect(cancellation_reason).toBe('unsubscribed')
  }
  expect(await deliveriesOf(one, two)).toEqual(['First cancelled', 'First cancelled'])
  expect(await post(eventName, email)).toEqual([])
  // Another workflow goes on.
  expect(await deliveriesOf(other)).toEqual(['Other first queued'])
  expect((await engine().row(other)).ended_status).toBeNull()
  await post('later', email)
  await engine().ended(other, 'COMPLETED')
  expect(await engine().subjects(other)).toEqual(['Other first', 'Other news', 'Other receipt'])
})

test('mail of the segment that leaves is not sent either', async () => {
  const eventName = uniqueName('event')
  await flow(
    design(
      {
        start: onEvent(eventName),
        news: mail('News'),
        receipt: mail('Receipt', { category: 'transactional' }),
        leave: ['unsubscribe', { scope: 'workflow' }],
        end: ['exit', {}],
      },
      [
        ['start', 'news'],
        ['news', 'receipt'],
        ['receipt', 'leave'],
        ['leave', 'end'],
      ],
    ),
  )
  const [id = ''] = await post(eventName, newContact())
  await engine().ended(id, 'CANCELLED')
  expect(await deliveriesOf(id)).toEqual(['News cancelled', 'Receipt queued'])
})

test('with skip_sends the execution goes on, and its marketing mail is skipped', async () => {
  const { eventName } = await leavingFlow({}, { on_unsubscribe: 'skip_sends' })
  const email = newContact()
  const id = await start(eventName, email)
  await post('leave.now', email)
  await engine().ended(id, 'COMPLETED')
  expect((await stepLines(id)).slice(2)).toEqual([
    'wait received',
    'leave default workflow',
    'news default unsubscribed',
    'receipt default',
    'end -',
  ])
  expect(await deliveriesOf(id)).toEqual(['First cancelled', 'Receipt queued'])
})

test('leaving the workspace leaves every audience, and the marketing mail of every workflow', async () => {
  const { body } = await api.request<{ id: string }>('POST', '/v1/audiences', { name: 'News' })
  const path = `/v1/audiences/${body.id}/contacts`
  const email = newContact()
  await api.request('POST', path, { email })
  const { eventName } = await leavingFlow({ scope: 'workspace' })
  const id = await start(eventName, email)
  const other = await start(await newsFlow(), email)
  await post('leave.now', email)
  await engine().ended(id, 'CANCELLED')

  type Page = { contacts: { email: string; is_subscribed: boolean }[] }
  const { body: page } = await api.request<Page>('GET', path)
  expect(page.contacts).toMatchObject([{ email, is_subscribed: false }])
  expect(await deliveriesOf(id, other)).toEqual(['First cancelled', 'Other first cancelled'])
  await post('later', email)
  await engine().ended(other, 'COMPLETED')
  expect((await stepLines(other)).slice(2)).toEqual([
    'wait received',
    'news default unsubscribed',
    'receipt default',
    'end -',
  ])
})

test.each(['workflow', 'workspace'] as const)(
  'webhooks are told once that a contact has left the %s',
  async (scope) => {
    const { body: hook } = await api.request<{ id: string }>('POST', '/v1/webhooks', {
      url: 'https://hooks.example.test/in',
      events: ['contact.unsubscribed', 'email.unsubscribed'],
    })
    const eventName = uniqueName('event')
    const leave: [string, Record<string, unknown>] = ['unsubscribe', { scope }]
    await flow({
      ...design({ start: onEvent(eventName), leave, again: leave, end: ['exit', {}] }, [
        ['start', 'leave'],
        ['leave', 'again'],
        ['again', 'end'],
      ]),
      settings: { on_unsubscribe: 'skip_sends' },
    })
    const email = newContact()
    const [id = ''] = await post(eventName, email)
    await engine().ended(id, 'COMPLETED')
    const told = await api.db
      .selectFrom('webhook_deliveries as d')
      .innerJoin('webhook_events as e', 'e.id', 'd.event_id')
      .select(['e.type', 'e.data'])
      .where('d.webhook_id', '=', hook.id)
      .execute()
    const read = await api.request('GET', `/v1/automation/contacts/${email}`)
    const { properties: _, ...listed } = read.body
    expect(told).toEqual([{ type: 'contact.unsubscribed', data: listed }])
  },
)
