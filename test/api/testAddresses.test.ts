// Test addresses where mail is accepted: a domain that is not verified yet will do, where all recipients are such.
import { expect, test } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { createBoundKey } from '../setup/boundKey.ts'
import { messageOf, startTestSubmission, submit } from '../setup/submission.ts'

const api = await createTestApi()
const senderId = await insertTestDomain(api, 'sender.test')
await insertTestDomain(api, 'new.test', 'PENDING')
const submission = await startTestSubmission(api)

const A = 'delivered+1@simulator.test'
const B = 'Bounced@SIMULATOR.test'
const mail = { from: 'a@new.test', subject: 'S', text: 'T' }
const post = (path: string, body: object) => api.request<{ code?: string }>('POST', path, body)

test.each([
  [{ to: A }],
  [{ to: [A, `Bea <${B}>`] }],
  [{ to: A, cc: [B], bcc: ['nosuch@simulator.test'] }],
])('%j from a domain that is not verified', async (to) => {
  expect((await post('/v1/emails', { ...mail, ...to })).status).toBe(200)
  expect((await post('/v1/emails/batch', { emails: [{ ...mail, ...to }] })).status).toBe(200)
})

test.each([
  [{ to: [A, 'ada@example.com'] }],
  [{ to: A, bcc: ['ada@example.com'] }],
  [{ to: 'delivered@simulator.test.example.com' }],
  [{ to: 'delivered@sub.simulator.test' }],
  [{ to: '"delivered@simulator.test" <ada@example.com>' }],
])('%j needs a verified one', async (to) => {
  const refused = await post('/v1/emails', { ...mail, ...to })
  expect([refused.status, refused.body.code]).toEqual([403, 'domain_not_verified'])
  const batch = await post('/v1/emails/batch', { emails: [{ ...mail, ...to }] })
  expect(JSON.stringify(batch.body)).toContain('domain_not_verified')
})

test('the domain must still be one of the workspace, and of the key', async () => {
  const foreign = await post('/v1/emails', { ...mail, from: 'a@elsewhere.test', to: A })
  expect([foreign.status, foreign.body.code]).toEqual([403, 'domain_not_found'])
  const { token } = await createBoundKey(api, senderId)
  const headers = { authorization: `Bearer ${token}` }
  const bound = await api.request('POST', '/v1/emails', { ...mail, to: A }, headers)
  expect([bound.status, bound.body['code']]).toEqual([403, 'domain_not_found'])
})

test('by SMTP, as the envelope has them', async () => {
  const message = messageOf({ From: 'a@new.test', To: 'ada@example.com', Subject: 'S' })
  expect(await submit(submission.port, api.key, message, [A, B])).toMatch(/^250 /)
  const mixed = await submit(submission.port, api.key, message, [A, 'ada@example.com'])
  expect(mixed).toMatch(/^550 5\.7\.1 domain_not_verified: /)
})

test('the test of a template', async () => {
  const { body } = await api.request<{ id: string }>('POST', '/v1/templates', {
    name: 'T',
    from: 'a@new.test',
    subject: 'S',
    html: '<p>T</p>',
  })
  const path = `/v1/templates/${body.id}/test`
  expect((await post(path, { to: [A, B] })).status).toBe(200)
  expect((await post(path, { to: [A, 'ada@example.com'] })).status).toBe(403)
})

test('SIMULATOR_DOMAIN says where they are', async () => {
  const config = { ...api.deps.config, simulatorDomain: 'other.test' }
  const app = createApp({ ...api.deps, config })
  const send = (to: string) =>
    app.request('/v1/emails', {
      method: 'POST',
      headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...mail, to }),
    })
  expect((await send('delivered@other.test')).status).toBe(200)
  expect((await send('delivered@simulator.test')).status).toBe(403)
})
