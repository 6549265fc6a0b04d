// An erasure beside real processes: kill -9 of the worker in its middle, and a search for the address in Postgres and in Temporal.
import { Connection } from '@temporalio/client'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'
import { createTestNamespace } from '../setup/namespace.ts'
import { spellings, traces } from '../setup/traces.ts'

const database = await createTestDatabase()
const { db } = database
const ADA = 'ada.lovelace@person.test'

/** Everything that Temporal shows of a namespace's workflows, as text: their histories, memos and search attributes. */
async function temporalText(address: string, namespace: string): Promise<string> {
  const connection = await Connection.connect({ address })
  onTestFinished(() => connection.close())
  const { executions } = await connection.workflowService.listWorkflowExecutions({
    namespace,
    pageSize: 1_000,
  })
  const texts = [JSON.stringify(executions, plain)]
  for (const { execution } of executions ?? []) {
    let nextPageToken: Uint8Array | undefined
    do {
      const page = await connection.workflowService.getWorkflowExecutionHistory({
        namespace,
        execution: execution ?? null,
        ...(nextPageToken ? { nextPageToken } : {}),
      })
      texts.push(JSON.stringify(page.history, plain))
      nextPageToken = page.nextPageToken?.length ? page.nextPageToken : undefined
    } while (nextPageToken)
  }
  return texts.join('\n')
}

/** Payloads are bytes that hold JSON: messages turn them into base64. */
const plain = (key: string, value: unknown) => {
  const isPayload = key === 'data' && typeof value === 'string'
  if (isPayload) return `${value} ${Buffer.from(value, 'base64').toString('latin1')}`
  return typeof value === 'bigint' ? String(value) : value
}

test('a worker that is killed in the middle of it leaves no trace once another one has carried it on', {
  timeout: 300_000,
}, async () => {
  const temporal = await createTestNamespace()
  const h = await createHarness(database, { temporal })
  const flow = design(
    {
      start: onEvent('begins'),
      hello: mail('Hi'),
      wait: ['delay', { duration: 'P3D' }],
      end: ['exit', {}],
    },
    [
      ['start', 'hello'],
      ['hello', 'wait'],
      ['wait', 'end'],
    ],
  )
  const body = { name: 'Flow', status: 'active', design: flow }
  expect((await h.request('POST', '/v1/workflows', body)).status).toBe(201)
  const event = { event_name: 'begins', email: ADA }
  const posted = await h.request<{ executions: string[] }>('POST', '/v1/automation/events', event)
  await eventually(() => expect(h.smtp.mailsTo(ADA)).toHaveLength(1))
  const path = `/v1/executions/${posted.body.executions[0]}`
  await eventually(async () => {
    expect((await h.request('GET', path)).body).toMatchObject({ status: 'WAITING' })
  })
  const events = Array.from({ length: 500 }, (_, n) => ({ event_name: `seen.${n}`, email: ADA }))
  for (let round = 0; round < 4; round++) {
    const batch = await h.request('POST', '/v1/automation/events/batch', { events })
    expect(batch.status).toBe(202)
  }
  const erased = `/v1/automation/contacts/${encodeURIComponent(ADA)}`
  expect((await h.request('DELETE', erased)).status).toBe(204)
  const read = async () =>
    (
      await h.request<{ jobs: { id: string; status: string; counts: { events?: number } }[] }>(
        'GET',
        '/v1/jobs?kind=erasure',
      )
    ).body.jobs[0]
  await eventually(async () => expect((await read())?.counts.events ?? 0).toBeGreaterThan(0))
  // The event that is deleted last: with it locked no worker comes to the end.
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  onTestFinished(() => release())
  const held = db.transaction().execute(async (trx) => {
    const { rows } =
      await sql`select id from automation_events order by id limit 1 for update`.execute(trx)
    expect(rows).toHaveLength(1)
    await h.workers[0]?.kill()
    expect((await read())?.status).toBe('running')
    await released
  })
  const middle = await read()
  release()
  await held
  await h.workers[0]?.start()
  await eventually(async () => expect((await read())?.status).toBe('completed'), {
    deadline_ms: 120_000,
  })
  const done = await read()
  expect(done?.id).toBe(middle?.id)
  // No page was done twice: as many events were deleted as there were.
  expect(done?.counts.events).toBeGreaterThanOrEqual(2_001)
  const { rows } = await sql`select 1 from automation_events`.execute(db)
  expect(rows).toEqual([])
  expect(await traces(db, ADA)).toEqual([])
  expect((await h.request('GET', path)).body).toMatchObject({
    status: 'CANCELLED',
    cancellation_reason: 'contact_deleted',
  })
  const text = await temporalText(temporal.address, temporal.namespace)
  expect(text).toContain(String(posted.body.executions[0]))
  // A payload, to show that they are read.
  expect(text).toContain(JSON.stringify(`{"jobId":"${done?.id}"`).slice(1, -1))
  for (const spelling of spellings(ADA)) expect(text).not.toContain(spelling)
})
