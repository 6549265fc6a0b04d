// What nodes do to others: record events, start and cancel workflows of the same contact.
import { describe, expect, test } from 'vitest'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { design, mail, onEvent, type TestDesign } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, stepLines, newContact } = await createApiWithEngine()

type TestNode = TestDesign['nodes'][number]['data']

/** A workflow of one node between its trigger and its end; `failed` leads to an end of its own. */
const withNode = (eventName: string, type: string, data: TestNode) =>
  design(
    {
      start: onEvent(eventName),
      act: [type, data],
      end: ['exit', { outcome: 'done' }],
      bad: ['exit', { outcome: 'bad' }],
    },
    [
      ['start', 'act'],
      ['act', 'end'],
      ['act', 'bad', 'failed'],
    ],
  )

/** A workflow that waits for ever. @returns its id and the event that starts it */
async function waitingFlow(reEntry?: object): Promise<{ workflowId: string; eventName: string }> {
  const eventName = uniqueName('waits')
  const [trigger, data] = onEvent(eventName)
  const workflowId = await flow(
    design(
      {
        start: [trigger, { ...data, ...(reEntry ? { re_entry: reEntry } : {}) }],
        hello: mail('Hello {{ event.name }}'),
        wait: ['wait_for_event', { event_name: 'never.comes' }],
        end: ['exit', {}],
      },
      [
        ['start', 'hello'],
        ['hello', 'wait'],
        ['wait', 'end', 'received'],
      ],
    ),
  )
  return { workflowId, eventName }
}

const executionsOf = (workflowId: string) =>
  api.db
    .selectFrom('executions')
    .selectAll()
    .where('workflow_id', '=', workflowId)
    .orderBy('id')
    .execute()

/** Runs a workflow of one node to its end. @returns its row and the step of the node */
async function run(type: string, data: TestNode, properties: object = {}, email = newContact()) {
  const eventName = uniqueName('event')
  await flow(withNode(eventName, type, data))
  const [id = ''] = await post(eventName, email, properties)
  const { outcome } = await engine().ended(id, 'COMPLETED')
  return { id, email, outcome, line: (await stepLines(id))[1] }
}

describe('send_event', () => {
  const properties = {
    order: { var: 'event.order' },
    text: 'Order {{ event.order.id }} of {{ contact.email }}',
    missing: { var: 'event.not_there' },
    list: [{ var: 'event.order.id' }, 2],
  }

  test('ends the wait of another execution and starts a workflow, with properties that it made', async () => {
    const eventName = uniqueName('sent')
    const started = await flow(
      design({ start: onEvent(eventName), hello: mail('{{ event.text }}'), end: ['exit', {}] }, [
        ['start', 'hello'],
        ['hello', 'end'],
      ]),
    )
    const begins = uniqueName('event')
    await flow(
      design(
        {
          start: onEvent(begins),
          wait: ['wait_for_event', { event_name: eventName }],
          thanks: mail('Thanks for {{ wait_events.wait.order.id }}'),
          end: ['exit', {}],
        },
        [
          ['start', 'wait'],
          ['wait', 'thanks', 'received'],
          ['thanks', 'end'],
        ],
      ),
    )
    const email = newContact()
    const [waiting = ''] = await post(begins, email)
    await engine().waiting(waiting, 'wait')

    const data = { event_name: eventName, properties }
    const sender = await run('send_event', data, { order: { id: 7 } }, email)
    expect(sender).toMatchObject({ outcome: 'done', line: `act default ${eventName}` })
    await engine().ended(waiting, 'COMPLETED')
    expect(await engine().subjects(waiting)).toEqual(['Thanks for 7'])
    const [other] = await executionsOf(started)
    await engine().ended(other?.id ?? '', 'COMPLETED')
    expect(await engine().subjects(other?.id ?? '')).toEqual([`Order 7 of ${email}`])
    expect(other).toMatchObject({ email, chain_depth: 1 })
    const stored = await api.db
      .selectFrom('automation_events')
      .select(['properties', 'depth'])
      .where('event_name', '=', eventName)
      .execute()
    expect(stored).toEqual([
      {
        properties: { order: { id: 7 }, text: `Order 7 of ${email}`, list: [7, 2] },
        depth: 1,
      },
    ])
  })

  test('whose text does not render fails, and records nothing', async () => {
    const eventName = uniqueName('sent')
    const data = {
      event_name: eventName,
      properties: { numbers: '{% for i in (1..event.n) %}{{ i }}{% endfor %}' },
    }
    const { outcome, line } = await run('send_event', data, { n: 1_000_000 })
    expect({ outcome, line }).toEqual({
      outcome: 'bad',
      line: expect.stringMatching(/^act failed template: subject: /),
    })
    const found = await api.db
      .selectFrom('automation_events')
      .select('id')
      .where('event_name', '=', eventName)
      .execute()
    expect(found).toEqual([])
  })
})

describe('start_workflow', () => {
  const properties = { name: { var: 'event.name' }, hello: 'Hi {{ event.name }}' }

  test('starts the other for the same contact, with the properties that it made', async () => {
    const { workflowId } = await waitingFlow()
    const data = { workflow_id: workflowId, properties }
    const { line, email } = await run('start_workflow', data, { name: 'Ada' })
    expect(line).toBe('act default')
    const [other] = await executionsOf(workflowId)
    expect(other).toMatchObject({
      email,
      trigger_node_id: 'start',
      properties: { name: 'Ada', hello: 'Hi Ada' },
      chain_depth: 1,
    })
    await engine().waiting(other?.id ?? '', 'wait')
    expect(await engine().subjects(other?.id ?? '')).toEqual(['Hello Ada'])
  })

  test('of a workflow that is not active starts nothing, and says so', async () => {
    const { workflowId } = await waitingFlow()
    await api.request('PATCH', `/v1/workflows/${workflowId}`, { status: 'draft' })
    const { line, outcome } = await run('start_workflow', { workflow_id: workflowId })
    expect({ line, outcome }).toEqual({
      line: 'act default the workflow is not active',
      outcome: 'done',
    })
    expect(await executionsOf(workflowId)).toEqual([])
  })

  test('obeys the re-entry of the other', async () => {
    const { workflowId } = await waitingFlow({ mode: 'once' })
    const first = await run('start_workflow', { workflow_id: workflowId })
    expect(first.line).toBe('act default')
    const data = { workflow_id: workflowId }
    const second = await run('start_workflow', data, {}, first.email)
    expect(second.line).toBe('act default re_entry_refused')
    expect(await executionsOf(workflowId)).toHaveLength(1)
  })

  test('starts nothing for a contact who has left the other', async () => {
    const left = uniqueName('left')
    const workflowId = await flow(withNode(left, 'unsubscribe', {}))
    const email = newContact()
    const [id = ''] = await post(left, email)
    await engine().ended(id, 'CANCELLED')
    const { line } = await run('start_workflow', { workflow_id: workflowId }, {}, email)
    expect(line).toBe('act default unsubscribed')
    expect(await executionsOf(workflowId)).toHaveLength(1)
  })
})

describe('cancel_workflow', () => {
  test('cancels what runs of the other for this contact, and nobody else', async () => {
    const { workflowId, eventName } = await waitingFlow()
    const [email, stranger] = [newContact(), newContact()]
    const ids = [...(await post(eventName, email)), ...(await post(eventName, email))]
    const [theirs = ''] = await post(eventName, stranger)
    for (const id of [...ids, theirs]) await engine().waiting(id, 'wait')

    const data = { workflow_id: workflowId, reason: 'bought it' }
    const { line, outcome } = await run('cancel_workflow', data, {}, email)
    expect({ line, outcome }).toEqual({ line: 'act default 2 cancelled', outcome: 'done' })
    for (const id of ids) {
      const row = await engine().ended(id, 'CANCELLED')
      expect(row.cancellation_reason).toBe('bought it')
    }
    expect((await engine().row(theirs)).ended_status).toBeNull()
  })

  test('that names its own workflow cancels itself with the others', async () => {
    const eventName = uniqueName('event')
    const own = (workflowId: string) =>
      design(
        {
          start: onEvent(eventName),
          wait: ['wait_for_event', { event_name: 'go.on' }],
          act: ['cancel_workflow', { workflow_id: workflowId }],
          hello: mail('Hello'),
          end: ['exit', {}],
        },
        [
          ['start', 'wait'],
          ['wait', 'act', 'received'],
          ['act', 'hello'],
          ['hello', 'end'],
        ],
      )
    const { workflowId: other } = await waitingFlow()
    const workflowId = await flow(own(other))
    const path = `/v1/workflows/${workflowId}`
    expect((await api.request('PATCH', path, { design: own(workflowId) })).status).toBe(200)
    const email = newContact()
    const ids = [...(await post(eventName, email)), ...(await post(eventName, email))]
    for (const id of ids) await engine().waiting(id, 'wait')
    await post('go.on', email)
    const rows = await Promise.all(ids.map((id) => engine().ended(id, 'CANCELLED')))
    expect(rows.map((row) => row.cancellation_reason)).toEqual(['cancelled', 'cancelled'])
    for (const id of ids) expect(await engine().subjects(id)).toEqual([])
  })
})
