// kill -9 of the worker while a node waits for the answer of another service: the same call again, by the same key, and one mail.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'
import { createHttpServer, json } from '../setup/httpServer.ts'

const database = await createTestDatabase()
const server = await createHttpServer()

test('a call that a dead worker left is made again with its key, and goes on once', {
  timeout: 240_000,
}, async () => {
  const h = await createHarness(database, { env: { ALLOW_PRIVATE_HTTP: 'true' } })
  server.answer('/held', () => undefined, json(200, { name: 'Ada' }))
  const flow = design(
    {
      start: onEvent('begins'),
      ask: ['http_request', { method: 'POST', url: `${server.url}/held`, store_as: 'who' }],
      hello: mail('Hi {{ steps.who.body.name }}'),
      good: ['exit', { outcome: 'good' }],
      bad: ['exit', { outcome: 'bad' }],
    },
    [
      ['start', 'ask'],
      ['ask', 'hello', 'success'],
      ['ask', 'bad', 'error'],
      ['hello', 'good'],
    ],
  )
  const body = { name: 'Ask', status: 'active', design: flow }
  expect((await h.request('POST', '/v1/workflows', body)).status).toBe(201)
  const event = { event_name: 'begins', email: 'ada@example.test' }
  const posted = await h.request<{ executions: string[] }>('POST', '/v1/automation/events', event)
  const [id] = posted.body.executions
  await eventually(() => expect(server.came('/held')).toHaveLength(1))
  await h.workers[0]?.kill()
  await h.workers[0]?.start()
  await eventually(() => expect(h.smtp.mailsTo('ada@example.test')).toHaveLength(1), {
    deadline_ms: 120_000,
  })
  await eventually(async () => {
    const { body } = await h.request('GET', `/v1/executions/${id}`)
    expect(body).toMatchObject({ status: 'COMPLETED' })
  })
  const keys = server.came('/held').map(({ headers }) => headers['idempotency-key'])
  expect(keys).toEqual([`${id}:ask:1`, `${id}:ask:1`])
  expect(h.smtp.mailsTo('ada@example.test')).toHaveLength(1)
})

test('without ALLOW_PRIVATE_HTTP a worker calls no address of this machine', {
  timeout: 120_000,
}, async () => {
  const h = await createHarness(database)
  const flow = design(
    {
      start: onEvent('begins.guarded'),
      ask: ['http_request', { method: 'GET', url: `${server.url}/inside` }],
      good: ['exit', { outcome: 'good' }],
      bad: ['exit', { outcome: 'bad' }],
    },
    [
      ['start', 'ask'],
      ['ask', 'good', 'success'],
      ['ask', 'bad', 'error'],
    ],
  )
  await h.request('POST', '/v1/workflows', { name: 'Ask', status: 'active', design: flow })
  const event = { event_name: 'begins.guarded', email: 'ada@example.test' }
  const posted = await h.request<{ executions: string[] }>('POST', '/v1/automation/events', event)
  const path = `/v1/executions/${posted.body.executions[0]}`
  await eventually(async () => {
    expect((await h.request('GET', path)).body).toMatchObject({ status: 'COMPLETED' })
  })
  const { body } = await h.request<{ steps: object[] }>('GET', `${path}/steps`)
  expect(body.steps[1]).toMatchObject({ node_id: 'ask', handle: 'error', why: 'private_address' })
  expect(server.came('/inside')).toEqual([])
})
