// A try of a webhook that Postgres does not take now: it is written when Postgres does, and the request is not made again meanwhile.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { createHttpServer } from '../setup/httpServer.ts'
import { deliveriesOf, startTestSender } from '../setup/webhookSender.ts'

const api = await createTestApi({ env: { ALLOW_PRIVATE_WEBHOOKS: 'true' } })
const { db } = api
const server = await createHttpServer()

test('an answer is kept until it can be written', async () => {
  // As a full disk: refusals are counted by a sequence, which they do not undo.
  await sql`create sequence refusals`.execute(db)
  await sql`create function refuse() returns trigger language plpgsql as $$
    begin
      perform nextval('refusals');
      raise exception 'could not extend file' using errcode = '53100';
    end $$`.execute(db)
  await sql`create trigger refuse before update on webhook_deliveries for each row
    when (new.state <> 'pending') execute function refuse()`.execute(db)
  const { body } = await api.request<{ id: string }>('POST', '/v1/webhooks', {
    url: `${server.url}/hook`,
    events: ['broadcast.started'],
  })
  await api.request('POST', `/v1/webhooks/${body.id}/test`)
  startTestSender(api)
  await eventually(async () => {
    const { rows } = await sql<{
      count: number
    }>`select last_value::int as count from refusals`.execute(db)
    expect(rows[0]?.count).toBeGreaterThanOrEqual(4)
  })
  expect(server.came('/hook')).toHaveLength(1)
  await sql`drop trigger refuse on webhook_deliveries`.execute(db)
  await eventually(async () =>
    expect(await deliveriesOf(api, body.id)).toMatchObject([{ state: 'succeeded', attempts: 1 }]),
  )
  expect(server.came('/hook')).toHaveLength(1)
})
