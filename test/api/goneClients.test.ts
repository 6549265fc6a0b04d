// Clients that go away while their request is at work in Postgres: what is given up, and what is not.
import { request as httpRequest } from 'node:http'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { createGate } from '../setup/gate.ts'
import { listen } from '../setup/listening.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const { port, close } = await listen(api)
afterAll(close)

// An email waits in its statement, an event in its COMMIT.
const gate = await createGate(api.url, ['emails', 'audiences'], ['automation_events'])
const { keeper } = gate

beforeEach(async () => {
  await gate.close()
})
afterEach(async () => {
  await gate.open()
  await eventually(() => expect(busy()).toBe(0))
  expect(api.pool.waitingCount).toBe(0)
})

/** Connections of the pool that are in use. */
const busy = () => api.pool.totalCount - api.pool.idleCount

function post(path: string, body: object) {
  const sent = httpRequest({
    host: '127.0.0.1',
    port,
    method: 'POST',
    path,
    agent: false,
    headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
  })
  sent.on('error', () => undefined)
  sent.end(JSON.stringify(body))
  return sent
}

const mail = { from: 'a@sender.test', to: 'b@example.test', subject: 'S', text: 'T' }
const event = { event_name: 'seen', email: 'c@example.test' }

const countRows = async (table: 'emails' | 'automation_events') =>
  (await keeper.query(`select from ${table}`)).rowCount
const atGate = (count: number) => gate.untilAtGate(count, { deadline_ms: 2_500 })

it('lets a COMMIT that was sent come to its end, once, and keeps its connection', async () => {
  const sent = post('/v1/automation/events', event)
  await atGate(1)
  const pids = await backends()
  sent.destroy()
  // Another client that leaves later is freed, so the first one's time has come by then.
  const mark = post('/v1/emails', mail)
  await atGate(2)
  mark.destroy()
  await atGate(1)
  expect(await countRows('automation_events')).toBe(0)
  await gate.open()
  await eventually(async () => expect(await countRows('automation_events')).toBe(1))
  await eventually(() => expect(busy()).toBe(0))
  expect(await backends()).toEqual(expect.arrayContaining([pids[0]]))
  expect((await api.request('POST', '/v1/automation/events', event)).status).toBe(202)
  expect(await countRows('automation_events')).toBe(2)
})

/** Process ids of the pool's backends that wait, or all of them. */
async function backends(): Promise<number[]> {
  const { rows } = await keeper.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database()
     and application_name = 'test' order by wait_event = 'advisory' desc nulls last`,
  )
  return rows.map(({ pid }) => pid)
}

it('frees a statement that waits, and nothing of it is committed', async () => {
  const before = await countRows('emails')
  const sent = post('/v1/emails', mail)
  await atGate(1)
  sent.destroy()
  await atGate(0)
  await gate.open()
  await eventually(() => expect(busy()).toBe(0))
  expect(await countRows('emails')).toBe(before)
  expect((await api.request('POST', '/v1/emails', mail)).status).toBe(200)
})

it('wakes the lanes for an email that was committed after its client had gone', async () => {
  const before = await countRows('emails')
  api.woken.length = 0
  const sent = post('/v1/emails', mail)
  await atGate(1)
  sent.destroy()
  await gate.open()
  await eventually(() => expect(api.woken).toEqual(['dripline_deliveries']))
  expect(await countRows('emails')).toBe((before ?? 0) + 1)
})

it('lets clients leave the line for a connection', async () => {
  const sent = Array.from({ length: 20 }, (_, i) => post('/v1/audiences', { name: `list ${i}` }))
  // Half of the pool is the share of a workspace.
  await atGate(5)
  for (const one of sent) one.destroy()
  await atGate(0)
  await gate.open()
  const began = performance.now()
  expect((await api.request('POST', '/v1/emails', mail)).status).toBe(200)
  expect(performance.now() - began).toBeLessThan(2_000)
})
