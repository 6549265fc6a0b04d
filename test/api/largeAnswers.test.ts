// Emails with a large content: answered in pieces, with the bytes that JSON.stringify would make.
import { connect } from 'node:net'
import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { SLICE_BYTES } from '../../db/emails/sliceReads.ts'
import { textFromHtml } from '../../mail/content/text.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { listen } from '../setup/listening.ts'
import { openRaw } from '../setup/rawHttp.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const { port, url, close } = await listen(api)
afterAll(close)

const headers = { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' }
async function send(html: string | undefined, text?: string) {
  const mail = { from: 'a@sender.test', to: 'b@example.test', subject: 'S "é"', html, text }
  const answer = await fetch(`${url}/v1/emails`, {
    method: 'POST',
    headers,
    body: JSON.stringify(mail),
  })
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { id: string }).id
}
const read = (id: string, query = '') => fetch(`${url}/v1/emails/${id}${query}`, { headers })

const getOf = (id: string) =>
  `GET /v1/emails/${id} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${api.key}\r\n\r\n`

const nasty = '\ufeff"\\\u2028\u2029\x01\n\t\x7f<b>\u{1f600}é</b>'
const long = `${'x'.repeat(SLICE_BYTES - 1)}\u{1f600}${nasty.repeat(20_000)}`

it.each([
  ['small', '<b>é</b>'.repeat(1_000), 'a text'],
  ['small, with a text made from it', '<b>é</b>'.repeat(1_000), undefined],
  ['large', nasty.repeat(20_000), 'a text'],
  ['large, with a text made from it', nasty.repeat(20_000), undefined],
  ['with surrogates at the border of a slice', long, long],
  [
    'with nothing but surrogates, and a text made from it',
    '\u{1f600}'.repeat(SLICE_BYTES + 1),
    undefined,
  ],
  ['with a large text alone', undefined, nasty.repeat(20_000)],
])('an email %s is shown whole, in the usual order', async (_, html, text) => {
  const id = await send(html, text)
  const answer = await read(id, '?expand=details')
  const body = await answer.text()
  const email = JSON.parse(body)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
  expect(email.html === (html ?? '')).toBe(true)
  expect(email.text === (text ?? textFromHtml(html ?? ''))).toBe(true)
  expect(body === JSON.stringify(email), 'the bytes of JSON.stringify').toBe(true)
  const small = await (await read(await send('a', 'b'), '?expand=details')).text()
  expect(Object.keys(email)).toEqual(Object.keys(JSON.parse(small)))
})

it('does not stop other requests while a large one is read', async () => {
  const id = await send('"'.repeat(20_000_000))
  let bytes = 0
  let isOver = false
  const socket = connect(port, '127.0.0.1', () => socket.write(getOf(id)))
  // Read and thrown away: a client in this process that keeps it would itself stop the process.
  socket.on('data', (piece: Buffer) => {
    bytes += piece.length
    isOver = piece.toString('latin1').endsWith('0\r\n\r\n')
  })
  socket.on('close', () => {
    isOver = true
  })
  // What the process itself works in one turn: a busy machine makes turns longer, and not this. In one piece it is over a
  // second, in slices some dozens of ms.
  let longest_ms = 0
  let before = process.cpuUsage()
  while (!isOver) {
    await new Promise((resolve) => setImmediate(resolve))
    const { user, system } = process.cpuUsage(before)
    longest_ms = Math.max(longest_ms, (user + system) / 1_000)
    before = process.cpuUsage()
  }
  socket.destroy()
  expect(bytes).toBeGreaterThan(40_000_000)
  expect(longest_ms).toBeLessThan(400)
})

it('closes the connection when the email is deleted while it is read', async () => {
  const id = await send('x'.repeat(6 * SLICE_BYTES))
  const connection = await openRaw(port)
  await connection.write(getOf(id))
  await new Promise((resolve) => connection.socket.once('data', resolve))
  connection.socket.pause()
  await sql`delete from email_events where email_id = ${id}`.execute(api.db)
  await sql`delete from deliveries where email_id = ${id}`.execute(api.db)
  await sql`delete from emails where id = ${id}`.execute(api.db)
  connection.socket.resume()
  await connection.closed()
  expect(connection.statuses()).toEqual([200])
  expect(connection.received().endsWith('0\r\n\r\n')).toBe(false)
})
