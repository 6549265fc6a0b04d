// One workspace's requests wait for a lock that somebody holds: others are answered, and who hangs up waits no more.
import { type ClientRequest, request as httpRequest } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createClient, seedWorkspace } from '../setup/harness.ts'
import { holdContact } from '../setup/mailEvents.ts'
import { createTestNamespace } from '../setup/namespace.ts'
import { startApi } from '../setup/processes.ts'

/** Two requests for each: of one contact no more are in Postgres at once. */
const HELD = Array.from({ length: 13 }, (_, n) => `held${n}@example.test`)
const REQUESTS = 2 * HELD.length
/** Much less than a lock or a connection is waited for, and much more than a busy machine needs. */
const QUICK_MS = 1_500

const database = await createTestDatabase()

interface Ask {
  request: ClientRequest
  /** null: the connection ended without an answer. */
  answer: Promise<{ status: number; retryAfter: number; body: string } | null>
}

/** Posts an event over a socket of its own, which the caller may close. */
function post(url: string, key: string, email: string): Ask {
  const body = JSON.stringify({ event_name: 'seen', email })
  const request = httpRequest(`${url}/v1/automation/events`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  })
  const answer = new Promise<Awaited<Ask['answer']>>((resolve) => {
    request.on('error', () => resolve(null))
    request.on('response', async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      const retryAfter = Number(response.headers['retry-after'] ?? 0)
      resolve({
        status: response.statusCode ?? 0,
        retryAfter,
        body: Buffer.concat(chunks).toString(),
      })
    })
  })
  request.end(body)
  return { request, answer }
}

/** Holds the rows of some contacts while the work runs. */
const holdAll = (emails: string[], work: () => Promise<void>): Promise<void> => {
  const [email, ...others] = emails
  if (email === undefined) return work()
  return holdContact(database.url, email, () => holdAll(others, work))
}

/** Backends of the API that wait for a lock. */
async function countWaiting(): Promise<number> {
  const { rows } = await database.pool.query(
    `select from pg_stat_activity where datname = current_database()
     and application_name = 'dripline-api' and wait_event_type = 'Lock'`,
  )
  return rows.length
}

test('a held contact stops only who needs it, and nobody once they have hung up', {
  timeout: 120_000,
}, async () => {
  const { address, namespace } = await createTestNamespace()
  const api = await startApi({
    databaseUrl: database.url,
    temporalAddress: address,
    temporalNamespace: namespace,
    smtpUrl: 'smtp://127.0.0.1:1',
    env: { API_METRICS_PORT: '0', DATABASE_POOL_SIZE: '10' },
  })
  const mine = await seedWorkspace(database.db)
  const other = await seedWorkspace(database.db)
  const ask = createClient(() => api.url, other.key)
  const meet = (key: string, email: string) => post(api.url, key, email).answer
  /** The other workspace, readiness and health: all are answered, and quickly. */
  const expectQuick = async (email: string) => {
    const began = performance.now()
    const answers = await Promise.all([
      meet(other.key, email),
      ask('GET', '/v1/audiences'),
      fetch(`${api.url}/readyz`),
      fetch(`${api.url}/healthz`),
    ])
    const took_ms = performance.now() - began
    expect(answers.map((answer) => answer?.status)).toEqual([202, 200, 200, 200])
    expect(took_ms).toBeLessThan(QUICK_MS)
  }
  for (const email of HELD) expect((await meet(mine.key, email))?.status).toBe(202)
  expect((await meet(other.key, 'first@example.test'))?.status).toBe(202)

  await holdAll(HELD, async () => {
    const patient = [...HELD, ...HELD].map((email) => post(api.url, mine.key, email))
    await eventually(async () => expect(await countWaiting()).toBeGreaterThan(1))
    for (let n = 0; n < 5; n++) await expectQuick(`during${n}@example.test`)
    const answers = await Promise.all(patient.map(({ answer }) => answer))
    expect(answers.map((answer) => answer?.status)).toEqual(Array(REQUESTS).fill(503))
    for (const answer of answers) {
      expect(answer?.retryAfter).toBeGreaterThan(0)
      expect(JSON.parse(answer?.body ?? '')).toMatchObject({
        code: 'service_unavailable',
        error: expect.stringMatching(/Another request holds|Too many requests like this one/),
      })
    }

    const leaving = [...HELD, ...HELD].map((email) => post(api.url, mine.key, email))
    onTestFinished(() => {
      for (const { request } of leaving) request.destroy()
    })
    await eventually(async () => expect(await countWaiting()).toBeGreaterThan(1))
    for (const { request } of leaving) request.destroy()
    const left = performance.now()
    await eventually(async () => expect(await countWaiting()).toBe(0), { deadline_ms: 2_000 })
    expect(performance.now() - left).toBeLessThan(2_500)
    await expectQuick('after@example.test')
    expect((await meet(mine.key, 'another@example.test'))?.status).toBe(202)
  })
  for (const email of HELD) expect((await meet(mine.key, email))?.status).toBe(202)
  const { rows } = await database.pool.query(
    `select from automation_events e join contacts c on c.id = e.contact_id where c.email = any($1)`,
    [HELD],
  )
  expect(rows).toHaveLength(2 * HELD.length)
})
