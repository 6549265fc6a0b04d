// A worker that is stopped begins no request of a webhook, however long its listener for mail still waits for a commit.
import { expect, onTestFinished, test } from 'vitest'
import { randomPort } from '../../dev/processes/ports.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createGate } from '../setup/gate.ts'
import { createHarness } from '../setup/harness.ts'
import { createHttpServer } from '../setup/httpServer.ts'
import { logIn, messageOf } from '../setup/submission.ts'
import { connectInbound, toWire } from '../unit/inbound/client.ts'

const database = await createTestDatabase()
const server = await createHttpServer()
const gate = await createGate(database.url, ['emails'])

test('no request of a webhook begins after the signal', { timeout: 240_000 }, async () => {
  const port = await randomPort()
  const h = await createHarness(database, {
    env: { ALLOW_PRIVATE_WEBHOOKS: 'true', SUBMISSION_PORT: String(port), DRAIN_SECONDS: '2' },
  })
  await gate.close()
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
  await gate.untilAtGate(1)
  const stopped = h.workers[0]?.stop()
  await eventually(() => expect(connectInbound(port)).rejects.toThrow('ECONNREFUSED'))
  expect((await ask()).status).toBeLessThan(300)
  await stopped
  expect(server.came('/told')).toHaveLength(1)
})
