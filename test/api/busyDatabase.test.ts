// A database that is there but busy: held locks, slow statements, a pool without a free connection.
import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { connect } from '../../db/connect.ts'
import { listen } from '../../db/listen.ts'
import { apiSettings } from '../../db/settings.ts'
import { createDatabaseLook, openSpare } from '../../db/spare.ts'
import { createWake } from '../../db/wake.ts'
import { limits } from '../../rules/limits.ts'
import { createTestApi } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { holdContact } from '../setup/mailEvents.ts'

const api = await createTestApi()
const held = { event_name: 'seen', email: 'held@example.test' }
const spare = openSpare({ url: api.url, name: 'test-spare', onError: () => undefined })
afterAll(() => spare.close())

it('says that a lock is held, after 3 seconds and not three times that', async () => {
  expect((await api.request('POST', '/v1/automation/events', held)).status).toBe(202)
  const began = performance.now()
  const answer = await holdContact(api.url, held.email, () =>
    api.request('POST', '/v1/automation/events', held),
  )
  const took_ms = performance.now() - began
  expect([answer.status, answer.body]).toEqual([
    503,
    {
      error: 'Another request holds what this one needs; nothing was changed; try again shortly',
      code: 'service_unavailable',
      request_id: answer.headers.get('x-request-id'),
    },
  ])
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(took_ms).toBeGreaterThan(limits.lockWaitMsMax - 100)
  expect(took_ms).toBeLessThan(2 * limits.lockWaitMsMax)
  expect((await api.request('POST', '/v1/automation/events', held)).status).toBe(202)
})

it('says that a statement took too long', async () => {
  const { db } = connect({
    url: api.url,
    poolSize: 1,
    name: 'test-slow',
    settings: { ...apiSettings, lock_timeout: 0, statement_timeout: 200 },
    onIdleError: () => undefined,
  })
  const app = createApp({ ...api.deps, db })
  const headers = { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' }
  const body = JSON.stringify(held)
  const answer = await holdContact(api.url, held.email, () =>
    Promise.resolve(app.request('/v1/automation/events', { method: 'POST', headers, body })),
  )
  expect([answer.status, await answer.json()]).toEqual([
    503,
    {
      error: 'This took the database too long; nothing was changed; try again shortly',
      code: 'service_unavailable',
      request_id: answer.headers.get('x-request-id'),
    },
  ])
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  await db.destroy()
})

it('has bounded the connections of the API', async () => {
  const { rows } = await sql<{ name: string; setting: string }>`
    select name, setting from pg_settings where name in (${sql.join(Object.keys(apiSettings))})
  `.execute(api.db)
  const wanted = Object.entries(apiSettings).map(([name, value]) => [name, String(value)])
  expect(Object.fromEntries(rows.map((row) => [row.name, row.setting]))).toEqual(
    Object.fromEntries(wanted),
  )
})

it('tells its readiness and wakes workers while no connection of the pool is free', async () => {
  const { max = 0 } = api.pool.options
  const taken = await Promise.all(Array.from({ length: max }, () => api.pool.connect()))
  const woken = new Set<string>()
  const stop = listen(
    api.url,
    'dripline_outbox',
    () => woken.add('outbox'),
    () => undefined,
  )
  try {
    // A listener is woken once when it begins to listen.
    await eventually(() => expect(woken.size).toBe(1))
    woken.clear()
    createWake(spare, (err) => woken.add(String(err)))('dripline_outbox')
    await eventually(() => expect([...woken]).toEqual(['outbox']))

    const app = createApp({ ...api.deps, isDatabaseThere: createDatabaseLook(spare) })
    const ready = await app.request('/readyz')
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { status: 'ok', postgres: true, temporal: true },
    ])
    expect((await app.request('/healthz')).status).toBe(200)
  } finally {
    for (const client of taken) client.release()
    await stop()
  }
})

it('looks at its servers once for all who ask for its readiness in the same second', async () => {
  let looks = 0
  const isDatabaseThere = () => {
    looks++
    return createDatabaseLook(spare)()
  }
  const app = createApp({ ...api.deps, isDatabaseThere })
  const answers = await Promise.all(Array.from({ length: 50 }, () => app.request('/readyz')))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(looks).toBe(1)
})
