// Webhooks beside real processes: mail is told of, and a worker that is killed loses no event and changes no id.
import { Webhook as Verifier } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { createHttpServer, json } from '../setup/httpServer.ts'

const database = await createTestDatabase()
const server = await createHttpServer()

test('what a killed worker was sending comes again with the same id, and nothing is lost', {
  timeout: 240_000,
}, async () => {
  const h = await createHarness(database, { env: { ALLOW_PRIVATE_WEBHOOKS: 'true' } })
  const made = await h.request<{ id: string; signing_secret: string }>('POST', '/v1/webhooks', {
    url: `${server.url}/held`,
    events: ['email.sent', 'email.delivered'],
  })
  expect(made.status).toBe(201)
  // The first is answered, so that eight are under way; the next ones are never answered.
  server.answer('/held', json(200, {}), ...Array(8).fill(() => undefined), json(200, {}))
  const emails: string[] = []
  for (let n = 0; n < 20; n++) {
    const mail = { from: 'a@sender.test', to: `r${n}@example.test`, subject: 'S', text: 'T' }
    emails.push((await h.request<{ id: string }>('POST', '/v1/emails', mail)).body.id)
  }
  await eventually(() => expect(server.came('/held').length).toBeGreaterThanOrEqual(9), {
    deadline_ms: 60_000,
  })
  const before = server.came('/held').slice(1, 9)
  await h.workers[0]?.kill()
  await h.workers[0]?.start()
  const told = () =>
    server.came('/held').map(({ body, headers }) => {
      const { type, data } = new Verifier(made.body.signing_secret).verify(
        body,
        headers as Record<string, string>,
      ) as { type: string; data: { email_id: string } }
      return { id: String(headers['webhook-id']), what: `${type} ${data.email_id}` }
    })
  await eventually(
    () => {
      const whats = new Set(told().map(({ what }) => what))
      for (const id of emails) {
        for (const type of ['email.sent', 'email.delivered'])
          expect(whats).toContain(`${type} ${id}`)
      }
    },
    { deadline_ms: 120_000 },
  )
  await eventually(async () => {
    const path = `/v1/webhooks/${made.body.id}/deliveries?status=pending`
    expect((await h.request<{ count: number }>('GET', path)).body.count).toBe(0)
  })
  // What was not answered is sent again before it is over.
  const all = told()
  expect(new Set(all.map(({ id }) => id)).size).toBe(40)
  for (const { headers } of before) {
    const id = String(headers['webhook-id'])
    expect(all.filter((one) => one.id === id).length, id).toBeGreaterThanOrEqual(2)
  }
})

test('without ALLOW_PRIVATE_WEBHOOKS nothing is sent to an address of this machine', {
  timeout: 120_000,
}, async () => {
  const h = await createHarness(database)
  const { body } = await h.request<{ id: string }>('POST', '/v1/webhooks', {
    url: 'https://127.0.0.1:8443/inside',
    events: ['email.sent'],
  })
  await h.request('POST', `/v1/webhooks/${body.id}/test`)
  await eventually(
    async () => {
      const { body: page } = await h.request<{ deliveries: object[] }>(
        'GET',
        `/v1/webhooks/${body.id}/deliveries`,
      )
      expect(page.deliveries).toMatchObject([{ attempts: 1, response_status: null }])
    },
    { deadline_ms: 60_000 },
  )
})
