// The whole path: an event starts an execution, which sends mail and is read over the API; waits, branches,
// cancellation.
import { Connection, WorkflowClient } from '@temporalio/client'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { welcomeDesign } from '../setup/designs.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import type { ServiceEnv } from '../setup/processes.ts'

const database = await createTestDatabase()

interface Execution {
  execution_id: string
  status: string
  current_step_id: string
  wait_until: number | null
  cancellation_reason: string | null
  completed_at: number | null
  context: { email: string; stepCount: number }
}

/** What the Web UI shows as the call stack of an execution. */
async function callStackOf(service: ServiceEnv, id: string): Promise<string> {
  const connection = await Connection.connect({ address: service.temporalAddress })
  onTestFinished(() => connection.close())
  const client = new WorkflowClient({ connection, namespace: service.temporalNamespace })
  return client.getHandle(id).query('__stack_trace')
}

test('an event starts an execution that sends, waits for an event, and sends again', async () => {
  const h = await createHarness(database)
  const { body: workflow } = await h.request<{ workflow_id: string }>('POST', '/v1/workflows', {
    name: 'Welcome',
    status: 'active',
    design: welcomeDesign,
  })

  const event = await h.request<{ executions: string[] }>('POST', '/v1/automation/events', {
    event_name: 'user.signed_up',
    email: 'Ada@example.test',
    properties: { plan: 'pro' },
    contact_properties: { first_name: 'Ada' },
  })
  expect(event).toMatchObject({ status: 202, body: { executions: [expect.any(String)] } })
  const [id] = event.body.executions
  const read = async () => (await h.request<Execution>('GET', `/v1/executions/${id}`)).body

  const [first] = await eventually(() => {
    expect(h.smtp.mailsTo('ada@example.test')).toHaveLength(1)
    return h.smtp.mailsTo('ada@example.test')
  })
  expect(first?.raw.toString()).toMatch(/^Subject: Welcome Ada\r$/m)
  const waiting = await eventually(async () => {
    const execution = await read()
    expect(execution.status).toBe('WAITING')
    return execution
  })
  expect(waiting).toMatchObject({ current_step_id: 'wait', context: { stepCount: 3 } })
  expect(await callStackOf(h.service, id ?? ''), 'production takes no stacks').toBe('')

  await h.request('POST', '/v1/automation/events', {
    event_name: 'user.activated',
    email: 'ada@example.test',
  })
  await eventually(() => expect(h.smtp.mailsTo('ada@example.test')).toHaveLength(2))
  const done = await eventually(async () => {
    const execution = await read()
    expect(execution.status).toBe('COMPLETED')
    return execution
  })
  expect(done).toMatchObject({ current_step_id: 'end', wait_until: null })

  const { body: mails } = await h.request<{ emails: { subject: string; events: unknown[] }[] }>(
    'GET',
    `/v1/executions/${id}/emails`,
  )
  expect(mails.emails.map((mail) => mail.subject).sort()).toEqual(['Thanks Ada', 'Welcome Ada'])
  await eventually(async () => {
    const { body } = await h.request<{ emails: { events: { status: string }[] }[] }>(
      'GET',
      `/v1/workflows/${workflow.workflow_id}/emails`,
    )
    const statuses = body.emails.map((mail) => mail.events.map((e) => e.status))
    expect(statuses).toEqual([
      ['sent', 'delivered'],
      ['sent', 'delivered'],
    ])
  })
})
