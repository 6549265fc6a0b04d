// Mail that is submitted with an idempotency key: taken once, by whichever connection it comes, also when it comes many times at once.
import { expect, test } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { idOf, messageOf, startTestSubmission, submit } from '../setup/submission.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const server = await startTestSubmission(api)

let keys = 0
const options = (idempotency_key = `order-${keys++}`) => ({
  'X-Dripline-Options': JSON.stringify({ idempotency_key }),
})
const send = (headers: Record<string, string>, to?: string, body?: string) =>
  submit(server.port, api.key, messageOf(headers, body), to)
const countEmails = async () => (await api.db.selectFrom('emails').select('id').execute()).length

test('the same message again is the first email, though its date and its id are new', async () => {
  const key = options()
  const first = idOf(await send({ ...key, 'Message-ID': '<1@app.test>' }))
  const before = await countEmails()
  expect(idOf(await send({ ...key, 'Message-ID': '<2@app.test>' }))).toBe(first)
  expect(await countEmails()).toBe(before)
  expect(await send(key, undefined, 'Something else')).toMatch(
    /^550 5\.6\.0 idempotency_key_reused: /,
  )
  expect(await countEmails()).toBe(before)
})

test('the rest of the recipients are another mail', async () => {
  const key = options()
  const first = idOf(await send(key, 'ada@example.test'))
  const rest = idOf(await send(key, 'grace@example.test'))
  expect(rest).not.toBe(first)
  expect(idOf(await send(key, 'grace@example.test'))).toBe(rest)
})

test('of many at once one is taken, and the others are told so or to come again', async () => {
  const key = options()
  const before = await countEmails()
  const replies = await Promise.all(Array.from({ length: 12 }, () => send(key)))
  const others = replies.filter((reply) => !reply.startsWith('250'))
  for (const reply of others) expect(reply).toMatch(/^451 4\.3\.0 idempotency_in_progress: /)
  const ids = new Set(replies.filter((reply) => reply.startsWith('250')).map(idOf))
  expect(ids.size).toBe(1)
  expect(await countEmails()).toBe(before + 1)
})

test('a message that is refused leaves its key free', async () => {
  const key = options()
  expect(await send({ ...key, From: 'hello@other.test' })).toMatch(/^550 5\.7\.1 domain_not_found/)
  idOf(await send(key))
})

/** A message with a text and a file; the boundary is another one each time, as clients make it. */
let boundaries = 0
const withFile = (key: Record<string, string>, file: string, { head = '', encoded = '' } = {}) => {
  const boundary = `part${++boundaries}`
  const body = [
    `--${boundary}`,
    '',
    'Your invoice',
    `--${boundary}`,
    `Content-Type: application/pdf${head}`,
    'Content-Transfer-Encoding: base64',
    'Content-Disposition: attachment; filename="invoice.pdf"',
    '',
    encoded || Buffer.from(file).toString('base64'),
    `--${boundary}--`,
  ].join('\r\n')
  const type = { 'Content-Type': `multipart/mixed; boundary=${boundary}` }
  return submit(server.port, api.key, messageOf({ ...key, ...type }, body))
}

test('with another file it is another message, with the same one it is the first', async () => {
  const key = options()
  const first = idOf(await withFile(key, 'Invoice 7'))
  const before = await countEmails()
  expect(idOf(await withFile(key, 'Invoice 7'))).toBe(first)
  const [start, end] = ['SW52b2lj', 'ZSA3']
  expect(idOf(await withFile(key, '', { encoded: `${start}\r\n${end}` }))).toBe(first)
  const reused = /^550 5\.6\.0 idempotency_key_reused: /
  expect(await withFile(key, 'Invoice 8')).toMatch(reused)
  expect(await withFile(key, 'Invoice 7', { head: '; name="invoice-8.pdf"' })).toMatch(reused)
  const plain = await send(key, undefined, 'Your invoice')
  expect(plain, 'without a file').toMatch(reused)
  expect(await countEmails()).toBe(before)
})

test('a signature that its sender makes anew each time is no other message', async () => {
  const key = options()
  const signed = (signature: string) => {
    const boundary = `part${++boundaries}`
    const type = `multipart/signed; boundary=${boundary}; protocol="application/pgp-signature"`
    const part = ['Content-Type: application/pgp-signature', '', signature]
    const body = [`--${boundary}`, '', 'Hello', `--${boundary}`, ...part, `--${boundary}--`]
    return send({ ...key, 'Content-Type': type }, undefined, body.join('\r\n'))
  }
  expect(idOf(await signed('second'))).toBe(idOf(await signed('first')))
})

test.each([
  'application/pkcs7-mime; smime-type=signed-data; name="smime.p7m"',
  'application/x-pkcs7-mime; smime-type=enveloped-data; name="smime.p7m"',
])('a message within a signature or a cipher is no other message: %s', async (type) => {
  const key = options()
  const sealed = (content: string) =>
    send({ ...key, 'Content-Type': type }, undefined, Buffer.from(content).toString('base64'))
  expect(idOf(await sealed('second'))).toBe(idOf(await sealed('first')))
})

test('what is encrypted by PGP is no other message, and a file beside it is', async () => {
  const key = options()
  const encrypted = (cipher: string, file: string) => {
    const [outer, inner] = [`part${++boundaries}`, `part${++boundaries}`]
    const body = [
      `--${outer}`,
      `Content-Type: multipart/encrypted; boundary=${inner}; protocol="application/pgp-encrypted"`,
      '',
      ...[`--${inner}`, 'Content-Type: application/pgp-encrypted', '', 'Version: 1'],
      ...[`--${inner}`, 'Content-Type: application/octet-stream', '', cipher, `--${inner}--`],
      ...[`--${outer}`, 'Content-Type: application/pdf', '', file, `--${outer}--`],
    ]
    const type = { 'Content-Type': `multipart/mixed; boundary=${outer}` }
    return send({ ...key, ...type }, undefined, body.join('\r\n'))
  }
  const first = idOf(await encrypted('first', 'Invoice 7'))
  expect(idOf(await encrypted('second', 'Invoice 7'))).toBe(first)
  expect(await encrypted('first', 'Invoice 8')).toMatch(/^550 5\.6\.0 idempotency_key_reused: /)
})
