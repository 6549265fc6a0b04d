// The time of a batch whose templates take minutes to render: that at which all of it is rendered, for all of its emails.
import { expect, it } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { createNewId } from '../../runtime/ids.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const EMAILS = 25

const clock = { ms: Date.now() }
const now = () => new Date(clock.ms)
const api = await createTestApi({ now })
await insertTestDomain(api, 'sender.test')
/** As templates with loops do, of which a workspace renders one at a time: each takes some seconds. */
const slow: typeof api.deps.renderer = {
  ...api.deps.renderer,
  render(...given) {
    clock.ms += 5_000
    return api.deps.renderer.render(...given)
  },
}
const app = createApp({ ...api.deps, renderer: slow, newId: createNewId(now) })

const post = (path: string, body: object) =>
  app.request(path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
  })
const list = async (query: string) =>
  (
    await api.request<{ emails: { id: string; email_sent_timestamp: number }[]; count: number }>(
      'GET',
      `/v1/emails${query}`,
    )
  ).body
const mail = (n: number) => ({
  from: 'a@sender.test',
  to: `b${n}@example.com`,
  subject: 's {{ n }}',
  text: 'x',
  variables: { n },
})

it('is that of all of them, by which lists find all of them', async () => {
  const emails = Array.from({ length: EMAILS }, (_, n) => mail(n))
  const response = await post('/v1/emails/batch', { emails })
  expect(response.status).toBe(200)
  const times = new Set((await list('')).emails.map((email) => email.email_sent_timestamp))
  expect([...times]).toEqual([clock.ms])
  expect((await list(`?since=${clock.ms}&until=${clock.ms + 1}`)).count).toBe(EMAILS)
  const { rows } = await api.pool.query('select distinct created_at, expires_at from deliveries')
  expect(rows).toEqual([{ created_at: now(), expires_at: new Date(clock.ms + DAY_MS) }])
})

it('is that after the rendering for an email that comes alone', async () => {
  clock.ms += DAY_MS
  expect((await post('/v1/emails', mail(0))).status).toBe(200)
  expect((await list(`?since=${clock.ms}&until=${clock.ms + 1}`)).count).toBe(1)
})
