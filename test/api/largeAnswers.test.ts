// Emails with a large content: read whole, and not made for a workspace that takes nothing of its answers.
import { connect } from 'node:net'
import { afterAll, expect, it } from 'vitest'
import { MEBIBYTE } from '../../rules/limits.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { listen } from '../setup/listening.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const { port, url, close } = await listen(api, {
  bodies: { untakenBytesMax: 4 * MEBIBYTE, untakenWait_ms: 500 },
})
afterAll(close)

const headers = { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' }
async function send(html: string, text?: string) {
  const mail = { from: 'a@sender.test', to: 'b@example.test', subject: 'S', html, text }
  const answer = await fetch(`${url}/v1/emails`, {
    method: 'POST',
    headers,
    body: JSON.stringify(mail),
  })
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { id: string }).id
}
const read = (id: string) => fetch(`${url}/v1/emails/${id}`, { headers })

it.each([
  ['small', 1_000, 'a text'],
  ['large', 600_000, 'a text'],
  ['large, with a text made from it', 600_000, undefined],
])('shows the whole of a %s one', async (_, repeats, text) => {
  const html = '<b>é</b>'.repeat(repeats)
  const answer = await read(await send(html, text))
  const email = (await answer.json()) as { html: string; text: string; subject: string }
  expect([answer.status, email.html === html, email.subject]).toEqual([200, true, 'S'])
  expect(email.text).toMatch(text === undefined ? /^ééé/ : /^a text$/)
})

it('does not make a second one while the first is not read; sending goes on', async () => {
  const id = await send('x'.repeat(24 * MEBIBYTE))
  const unread = connect(port, '127.0.0.1').on('error', () => undefined)
  unread.write(
    `GET /v1/emails/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.key}\r\n\r\n`,
  )
  await new Promise((resolve) => unread.once('readable', resolve))
  const refused = await read(id)
  const body = (await refused.json()) as { code?: string }
  expect([refused.status, body.code]).toEqual([503, 'service_unavailable'])
  expect(refused.headers.get('retry-after')).toBe('5')
  await send('small')
  unread.destroy()
  expect((await read(id)).status).toBe(200)
})
