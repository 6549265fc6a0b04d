// Bodies that are made to cost, or are broken, and large ones that are right. All through a real listener.
import { createHash } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { limits } from '../../rules/limits.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { listen } from '../setup/listening.ts'
import { head, openRaw, told } from '../setup/rawHttp.ts'

const MEBIBYTE = 1024 * 1024
const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const { port, url, close } = await listen(api)
afterAll(close)

const mail = '"from":"a@sender.test","to":"b@example.test","subject":"Hi"'

/** Posts bytes on a connection of their own. */
async function post(
  path: string,
  body: string | Buffer,
  headers: Record<string, string | number> = {},
) {
  const bytes = Buffer.from(body)
  const connection = await openRaw(port)
  const length = 'transfer-encoding' in headers ? {} : { 'content-length': bytes.length }
  await connection.write(head(path, api.key, { ...length, ...headers }))
  await Promise.race([connection.write(bytes), connection.answers()])
  await connection.answers()
  connection.socket.destroy()
  return told(connection)
}

/** How long the slowest of small requests took while `work` ran. */
async function slowest_ms(work: () => Promise<void>): Promise<number> {
  let isOver = false
  let worst_ms = 0
  const running = work().finally(() => {
    isOver = true
  })
  while (!isOver) {
    const begin = performance.now()
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    worst_ms = Math.max(worst_ms, performance.now() - begin)
  }
  await running
  return worst_ms
}

describe('bodies of many brackets', () => {
  const brackets = Buffer.from(`[${'{},'.repeat(40 * MEBIBYTE)}{}]`)
  const metadata = Buffer.from(`{${mail},"text":"x","metadata":[${'[],'.repeat(12 * MEBIBYTE)}[]]}`)

  it('are refused before they are parsed, three at once, and others are answered meanwhile', async () => {
    const answers: unknown[] = []
    const worst_ms = await slowest_ms(async () => {
      const bodies = [brackets, metadata, brackets, metadata]
      answers.push(...(await Promise.all(bodies.map((body) => post('/v1/emails', body)))))
    })
    expect(answers).toEqual(Array(4).fill({ status: 413, code: 'body_too_large' }))
    expect(worst_ms).toBeLessThan(5_000)
  })

  it('are refused by their number and depth where they fit', async () => {
    const many = `{"name":"x","more":[${'[],'.repeat(limits.bodyMarksMax / 3)}[]]}`
    expect(await post('/v1/audiences', many)).toEqual({ status: 400, code: 'body_too_complex' })
    const deep = `${'['.repeat(500_000)}${']'.repeat(500_000)}`
    expect(await post('/v1/emails', deep)).toEqual({ status: 400, code: 'body_too_complex' })
  })
})

describe('bytes that are no JSON', () => {
  it.each([
    ['empty', Buffer.alloc(0)],
    ['blank', Buffer.from(' \n\t')],
    ['cut off', Buffer.from(`{${mail},"text":"xyz`)],
    [
      'a byte that is no UTF-8',
      Buffer.concat([
        Buffer.from(`{${mail},"text":"`),
        Buffer.from([0xc3, 0x28]),
        Buffer.from('"}'),
      ]),
    ],
    [
      'half a pair as UTF-8',
      Buffer.concat([
        Buffer.from(`{${mail},"text":"`),
        Buffer.from([0xed, 0xa0, 0x80]),
        Buffer.from('"}'),
      ]),
    ],
  ])('%s: 400, small and large', async (_, bytes) => {
    const wanted = { status: 400, code: 'invalid_json' }
    expect(await post('/v1/emails', bytes)).toEqual(wanted)
    const large = Buffer.concat([
      bytes.subarray(0, -2),
      Buffer.alloc(2 * MEBIBYTE, 'x'),
      bytes.subarray(-2),
    ])
    if (bytes.length > 3) expect(await post('/v1/emails', large)).toEqual(wanted)
  })

  it('of the properties of a contact: the text of the contract', async () => {
    const path = '/v1/automation/contacts/ada@example.test'
    const response = await fetch(url + path, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
      body: Buffer.concat([
        Buffer.from('{"properties":{"a":"'),
        Buffer.from([0xff]),
        Buffer.from('"}}'),
      ]),
    })
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: 'Invalid JSON payload' },
    ])
  })
})

describe('a large email', () => {
  const html = `<p>Grüße 😀 "quoted" \\ back\n</p>`.repeat(60_000)
  const file = Buffer.alloc(3 * MEBIBYTE, 'file ')
  const body = () =>
    JSON.stringify({
      from: 'a@sender.test',
      to: 'b@example.test',
      subject: 'Large',
      html,
      text: `half ${'t'.repeat(100)}`,
      attachments: [{ filename: 'a.bin', content: file.toString('base64') }],
    })
  const chunked = (text: string) => {
    const bytes = Buffer.from(text)
    const parts: Buffer[] = []
    for (let i = 0; i < bytes.length; i += 70_001) {
      const part = bytes.subarray(i, i + 70_001)
      parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
    }
    return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
  }

  it.each(['with its length', 'in chunks'])('is stored as it was sent, %s', async (how) => {
    const answer =
      how === 'in chunks'
        ? await post('/v1/emails', chunked(body()), { 'transfer-encoding': 'chunked' })
        : await post('/v1/emails', `\uFEFF${body()}`)
    expect(answer.status).toBe(200)
    const row = await api.db
      .selectFrom('emails')
      .select(['id', 'html', 'text'])
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow()
    expect([row.html === html, row.text?.length]).toEqual([true, 105])
    const stored = await api.db
      .selectFrom('email_attachments')
      .select('content')
      .where('email_id', '=', row.id)
      .executeTakeFirstOrThrow()
    const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
    expect(hash(stored.content)).toBe(hash(file))
  })

  it.each([
    [
      'half of a pair in html',
      { html: `${html}\ud83d` },
      400,
      'html must not hold a NUL character',
    ],
    [
      'html over 40 MB',
      { html: 'x'.repeat(41 * MEBIBYTE) },
      400,
      'html content size (41.00MB) exceeds maximum of 40MB',
    ],
    [
      'text over 40 MB',
      { text: 'x'.repeat(41 * MEBIBYTE) },
      400,
      'text must not exceed 40MB, has 41.00MB',
    ],
    [
      'what is no base64',
      { attachments: [{ filename: 'a', content: `${'A'.repeat(2 * MEBIBYTE)}%` }] },
      400,
      'attachments[0].content must be base64, which has no \\"%\\"',
    ],
    [
      'base64 that goes on after its end',
      { attachments: [{ filename: 'a', content: `${'A'.repeat(2 * MEBIBYTE)}AA==AAAA` }] },
      400,
      'attachments[0].content must be one base64 text, and goes on after its =',
    ],
    [
      'base64 that was cut',
      { attachments: [{ filename: 'a', content: `${'A'.repeat(2 * MEBIBYTE)}A` }] },
      400,
      'attachments[0].content must be base64, and was cut',
    ],
    [
      'files of 25 MB in lines of 76 characters, as mail programs write base64',
      { attachments: [{ filename: 'a', content: `${'AAAA'.repeat(19)}\r\n`.repeat(459_900) }] },
      200,
      'queued',
    ],
    [
      'files over 25 MB',
      { attachments: [{ filename: 'a', content: 'A'.repeat(36 * MEBIBYTE) }] },
      400,
      'attachments together must not exceed 25MB, have 27.00MB',
    ],
    ['Liquid of 2 MB', { variables: {}, html: 'x'.repeat(2 * MEBIBYTE) }, 400, 'html: '],
  ])('says of %s what it says of a small one', async (_, change, status, text) => {
    const connection = await openRaw(port)
    const bytes = Buffer.from(JSON.stringify({ ...JSON.parse(body()), ...change }))
    await connection.write(head('/v1/emails', api.key, { 'content-length': bytes.length }))
    await connection.write(bytes)
    await connection.answers()
    connection.socket.destroy()
    expect([connection.statuses(), connection.received()]).toEqual([
      [status],
      expect.stringContaining(text),
    ])
  })
})
