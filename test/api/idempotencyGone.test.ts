// A client that goes away during its request with an Idempotency-Key, and sends it again: one effect.
import { request as httpRequest } from 'node:http'
import { afterAll, expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { listen } from '../setup/listening.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
const { port, close } = await listen(api)
afterAll(close)

/** Posts as a client that may be cut. */
function post(name: string, key: string) {
  const sent = httpRequest({
    host: '127.0.0.1',
    port,
    method: 'POST',
    path: '/v1/audiences',
    agent: false,
    headers: {
      authorization: `Bearer ${api.key}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
  })
  sent.on('error', () => undefined)
  sent.end(JSON.stringify({ name }))
  return sent
}

const count = async (name: string) =>
  (await api.db.selectFrom('audiences').select('id').where('name', '=', name).execute()).length

/** Statements that wait for a lock. */
async function waiting(): Promise<number> {
  const { rows } = await api.pool.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0]?.n ?? 0
}

it('frees the key when the work is given up', async () => {
  const [name, key] = [uniqueName('gone'), uniqueName('key')]
  const holder = await api.pool.connect()
  await holder.query('begin; lock table audiences in exclusive mode')
  const sent = post(name, key)
  await eventually(async () => expect(await waiting()).toBe(1))
  sent.destroy()
  await eventually(async () => expect(await waiting()).toBe(0))
  await holder.query('rollback')
  holder.release()
  expect(await count(name)).toBe(0)
  // The process may not have noticed yet that it is over.
  const again = await eventually(async () => {
    const answer = await api.request('POST', '/v1/audiences', { name }, { 'idempotency-key': key })
    expect(answer.status).not.toBe(409)
    return answer
  })
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect(await count(name)).toBe(1)
})

it('gives the answer that was not heard', async () => {
  const [name, key] = [uniqueName('unheard'), uniqueName('key')]
  const sent = post(name, key)
  await eventually(async () => expect(await count(name)).toBe(1))
  sent.destroy()
  const again = await api.request('POST', '/v1/audiences', { name }, { 'idempotency-key': key })
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
  expect(await count(name)).toBe(1)
})
