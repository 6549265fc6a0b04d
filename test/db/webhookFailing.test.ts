// An endpoint is disabled when its tries have failed for five days, not for days in which nothing was sent to it.
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { createHttpServer, json } from '../setup/httpServer.ts'
import { deliveriesOf, hasten, startTestSender } from '../setup/webhookSender.ts'

const api = await createTestApi({ env: { ALLOW_PRIVATE_WEBHOOKS: 'true' } })
const { db } = api
const server = await createHttpServer()
let made = 0

/** A webhook that began to fail, and failed last, so many days ago; null: by a worker that does not write it. */
async function makeFailing(days: { since: number; last: number | null }) {
  const path = `/${++made}`
  const { body } = await api.request<{ id: string }>('POST', '/v1/webhooks', {
    url: `${server.url}${path}`,
    events: ['broadcast.started'],
  })
  await sql`update webhooks set failures = 8, failing_since = now() - ${days.since} * interval '1 day',
    failed_at = now() - ${days.last}::float8 * interval '1 day' where id = ${body.id}`.execute(db)
  return { id: body.id, path }
}
const sendTest = (id: string) => api.request('POST', `/v1/webhooks/${id}/test`)
const webhook = (id: string) =>
  db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

it.each([
  ['nothing was sent for a month', { since: 31, last: 30 }],
  ['nothing was sent for longer than any pause', { since: 6, last: 2.01 }],
  ['a worker of the release before has noted the failures', { since: 6, last: null }],
])('a first failure after %s is a first failure', async (_, days) => {
  const { id, path } = await makeFailing(days)
  server.answer(path, json(500, {}), json(200, {}))
  startTestSender(api)
  await sendTest(id)
  await eventually(async () =>
    expect(await deliveriesOf(api, id)).toMatchObject([{ attempts: 1, response_status: 500 }]),
  )
  const { failing_since, ...row } = await webhook(id)
  expect(row).toMatchObject({ status: 'enabled', disabled_reason: null, failures: 9 })
  expect(Date.now() - Number(failing_since)).toBeLessThan(3_600_000)
  await hasten(api, id)
  await eventually(async () =>
    expect(await deliveriesOf(api, id)).toMatchObject([{ state: 'succeeded', attempts: 2 }]),
  )
  expect(await webhook(id)).toMatchObject({ status: 'enabled', failing_since: null })
})

it.each([
  ['five days of failures disable', { since: 5.01, last: 0.4 }, 'disabled'],
  [
    'also after the longest pause that an answer may ask for',
    { since: 5.01, last: 1.01 },
    'disabled',
  ],
  ['fewer do not', { since: 4.9, last: 0.4 }, 'enabled'],
])('%s', async (_, days, status) => {
  const { id, path } = await makeFailing(days)
  server.answer(path, json(500, {}))
  startTestSender(api)
  await sendTest(id)
  await eventually(async () => expect(await webhook(id)).toMatchObject({ status, failures: 9 }))
})
