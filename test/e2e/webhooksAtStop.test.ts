// A worker that is stopped begins no request of a webhook, however long its listener for mail still waits for a commit.
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { randomPort } from '../../dev/processes/ports.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { createHttpServer } from '../setup/httpServer.ts'
import { logIn, messageOf } from '../setup/submission.ts'
import { runSql } from '../setup/template.ts'
import { connectInbound, toWire } from '../unit/inbound/client.ts'

const database = await createTestDatabase()
const server = await createHttpServer()
/** Key of the advisory lock at which emails wait while they are written. */
const GATE = 4_711

test('no request of a webhook begins after the signal', { timeout: 240_000 }, async () => {
  const port = await randomPort()
  const h = await createHarness(database, {
    env: { ALLOW_PRIVATE_WEBHOOKS: 'true', SUBMISSION_PORT: String(port), DRAIN_SECONDS: '2' },
  })
  const keeper = new pg.Client({ connectionString: database.url, application_name: 'keeper' })
  await keeper.connect()
  onTestFinished(() => keeper.end())
  await runSql(
    database.url,
    `create function wait_at_gate() returns trigger language plpgsql set lock_timeout to '60s' as
     $$ begin perform pg_advisory_xact_lock_shared(${GATE}); return null; end $$`,
  )
  await runSql(
    database.url,
    'create trigger gate after insert on emails for each row execute function wait_at_gate()',
  )
  await keeper.query('select pg_advisory_lock($1)', [GATE])
  const { body } = await h.request<{ id: string }>('POST', '/v1/webhooks', {
    url: `${server.url}/told`,
    events: ['email.sent'],
  })
  const ask = () => h.request('POST', `/v1/webhooks/${body.id}/test`)
  await ask()
  await eventually(() => expect(server.came('/told')).toHaveLength(1))

  const client = await logIn(port, h.key)
  onTestFinished(() => client.close())
  for (const line of ['MAIL FROM:<a@app.test>', 'RCPT TO:<ada@example.test>', 'DATA']) {
    await client.say(line)
  }
  client.socket.write(toWire(messageOf()))
  await eventually(async () => {
    const { rows } = await keeper.query(
      `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`,
    )
    expect(rows).toHaveLength(1)
  })
  const stopped = h.workers[0]?.stop()
  await eventually(() => expect(connectInbound(port)).rejects.toThrow('ECONNREFUSED'))
  expect((await ask()).status).toBeLessThan(300)
  await stopped
  expect(server.came('/told')).toHaveLength(1)
})
