// Composing: the same bytes each time, no text escapes from its field, no line is too long.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ComposeInput } from '../../../mail/compose/input.ts'
import { composeMessage } from '../../../mail/compose/mime.ts'
import { leaves, readMessage } from './reader.ts'

const base: ComposeInput = {
  id: 'em_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  from: { name: 'Ann "A" Möller', address: 'ann@a.test' },
  to: [{ name: null, address: 'bo@b.test' }],
  cc: [],
  replyTo: [],
  subject: 'Grüße an dich',
  html: '<p>Hällo <img src="cid:logo"></p>',
  text: 'Hällo',
  date: new Date('2026-11-21T10:00:00.123Z'),
  messageId: 'm1@a.test',
  headers: {},
  attachments: [],
  unsubscribe: null,
  feedbackId: null,
  automatic: 'no',
}

const compose = (change: Partial<ComposeInput> = {}) => composeMessage({ ...base, ...change })
const read = async (change: Partial<ComposeInput> = {}) => readMessage(await compose(change))
const file = {
  filename: 'a.txt',
  content: Buffer.from('abc'),
  contentType: null,
  contentId: null,
}

/** Checks: only CRLF, 7-bit, no line over 998 characters. */
function expectClean(message: Buffer) {
  const text = message.toString('latin1')
  expect(/(?<!\r)\n|\r(?!\n)/.test(text)).toBe(false)
  expect(/[^\t\r\n\x20-\x7e]/.test(text)).toBe(false)
  expect(Math.max(...text.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998)
}

test('headers, both bodies, nothing random', async () => {
  const change = {
    cc: [
      { name: 'Café', address: 'c@c.test' },
      { name: 'Doe, John', address: 'j@c.test' },
    ],
    replyTo: [{ name: null, address: 'r@a.test' }],
    headers: {
      'X-Order': '42',
      Bcc: 'secret@x.test',
      'Content-Type': 'text/evil',
      'bad name': '1',
    },
    unsubscribe: { url: 'https://u.test/u/abc', mailto: 'u@a.test' },
    feedbackId: 'a:b:c:dripline',
    attachments: [{ ...file, filename: 'Ünï.pdf', content: Buffer.from([0, 255, 10, 13]) }],
  }
  const message = await compose(change)
  expect(await compose(change)).toEqual(message)
  expectClean(message)
  const root = readMessage(message)
  expect(root.header('from')).toBe('Ann "A" Möller <ann@a.test>')
  expect(root.header('to')).toBe('bo@b.test')
  expect(root.header('cc')).toBe('Café <c@c.test>, "Doe, John" <j@c.test>')
  expect(root.header('reply-to')).toBe('r@a.test')
  expect(root.header('subject')).toBe('Grüße an dich')
  expect(root.header('date')).toBe('Sat, 21 Nov 2026 10:00:00 +0000')
  expect(root.header('message-id')).toBe('<m1@a.test>')
  expect(root.header('x-order')).toBe('42')
  expect(root.header('list-unsubscribe')).toBe('<https://u.test/u/abc>, <mailto:u@a.test>')
  expect(root.header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
  expect(root.header('feedback-id')).toBe('a:b:c:dripline')
  expect(root.header('bcc')).toBe(null)
  expect(root.headers.filter(([name]) => name === 'Content-Type')).toHaveLength(1)
  expect(root.header('content-type')).toMatch(/^multipart\/mixed; boundary="?--dl-[0-9a-f]{24}-/)
  const [text, html, pdf] = leaves(root)
  expect(text?.content.toString()).toBe('Hällo')
  expect(html?.content.toString()).toBe(base.html)
  expect(pdf?.content).toEqual(Buffer.from([0, 255, 10, 13]))
  expect(pdf?.header('content-type')).toContain('application/pdf')
  expect(message.toString()).not.toContain('secret@x.test')
})

const automatic = ['auto-submitted', 'x-auto-response-suppress', 'precedence'] as const
test.each([
  ['no', [null, null, null]],
  ['single', ['auto-generated', 'OOF, AutoReply', null]],
  ['bulk', ['auto-generated', 'OOF, AutoReply', 'bulk']],
] as const)('automatic mail says so: %s', async (kind, values) => {
  const root = await read({ automatic: kind })
  expect(automatic.map((name) => root.header(name))).toEqual(values)
})

test("the sender's own words to those who answer by themselves stay in mail of the API alone", async () => {
  const headers = { 'AUTO-Submitted': 'no', precedence: 'list', 'x-auto-response-suppress': 'All' }
  const own = await read({ headers })
  expect(automatic.map((name) => own.header(name))).toEqual(['no', 'All', 'list'])
  const text = (await compose({ headers, automatic: 'bulk' })).toString()
  for (const name of automatic) {
    expect(text.match(new RegExp(`^${name}: .*$`, 'gim'))).toHaveLength(1)
  }
  expect(text).toMatch(/^Precedence: bulk\r$/m)
  const single = await read({ headers, automatic: 'single' })
  expect(automatic.map((name) => single.header(name))).toEqual([
    'auto-generated',
    'OOF, AutoReply',
    'list',
  ])
})

test('the boundary depends on the content; with attachments it depends on the id', async () => {
  const boundary = async (change: Partial<ComposeInput>) =>
    /boundary="?([^";\r]+)/.exec((await compose(change)).toString())?.[1]
  expect(await boundary({})).toBeTruthy()
  expect(await boundary({})).toBe(await boundary({ id: 'em_2' }))
  expect(await boundary({})).not.toBe(await boundary({ text: 'Hallo' }))
  const attachments = [file]
  expect(await boundary({ attachments })).toBeTruthy()
  expect(await boundary({ attachments })).not.toBe(await boundary({ attachments, id: 'em_2' }))
})

test('an attachment with a content id is inline, related to the html', async () => {
  const logo = { ...file, filename: 'l.png', contentType: 'image/png', contentId: 'logo' }
  const root = await read({ text: '', attachments: [logo] })
  expect(root.header('content-type')).toContain('multipart/related')
  const image = leaves(root)[1]
  expect(image?.header('content-id')).toBe('<logo>')
  expect(image?.header('content-disposition')).toContain('inline')
})

test.each([
  ['text alone', { html: null }, ['text/plain']],
  ['html alone', { text: '' }, ['text/html']],
  ['html, whose text is made', { text: null }, ['text/plain', 'text/html']],
  ['nothing', { html: null, text: null }, ['text/plain']],
  ['empty html', { html: '', text: null }, ['text/plain']],
])('%s', async (_, change, types) => {
  const found = leaves(await read(change)).map((part) => part.header('content-type'))
  expect(found.map((type) => type?.split(';')[0])).toEqual(types)
})

test('line breaks do not end a header', async () => {
  const evil = 'x\r\nBcc: evil@x.test\r\n\r\nbody'
  const message = await compose({
    subject: evil,
    from: { name: evil, address: 'a@a.test' },
    to: [{ name: evil, address: 'b@b.test' }],
    headers: { 'X-Evil': evil, 'X\r\nBcc': 'evil@x.test' },
    feedbackId: evil,
    unsubscribe: { url: `https://u.test/${evil}` },
    attachments: [
      { filename: evil, content: Buffer.from('a'), contentType: evil, contentId: evil },
    ],
  })
  expectClean(message)
  const everywhere = [readMessage(message), ...leaves(readMessage(message))]
  for (const part of everywhere) expect(part.header('bcc')).toBe(null)
})

test('no line over 998 characters for any input', async () => {
  const word = 'w'.repeat(5000)
  const message = await compose({
    subject: `${word} ü ${word}`,
    html: `<p>${word}</p>`,
    text: `${word}\n.\n${word}`,
    headers: { 'X-Long': word, 'X-Wide': 'ü'.repeat(3000), 'X-Words': 'ab '.repeat(1000).trim() },
    to: Array.from({ length: 50 }, (_, i) => ({
      name: 'ä'.repeat(200),
      address: `${i}${'l'.repeat(60)}@${'d'.repeat(60)}.test`,
    })),
    attachments: [
      { ...file, filename: `${word}.txt` },
      { ...file, contentType: 'message/rfc822', content: Buffer.from(`A: ${word}`) },
      { ...file, contentType: `text/${word}` },
      { ...file, contentType: 'multipart/mixed' },
    ],
  })
  expectClean(message)
  const root = readMessage(message)
  expect(root.header('subject')).toBe(`${word} ü ${word}`)
  expect(root.header('x-long')).toBe(word)
  expect(root.header('x-wide')).toBe('ü'.repeat(3000))
  expect(root.header('x-words')).toBe('ab '.repeat(1000).trim())
  const [text, html, ...files] = leaves(root)
  expect(text?.content.toString()).toBe(`${word}\r\n.\r\n${word}`)
  expect(html?.content.toString()).toBe(`<p>${word}</p>`)
  expect(files.map((part) => part.content.toString())).toEqual(['abc', `A: ${word}`, 'abc', 'abc'])
})

test('a forwarded message keeps its type if its lines fit', async () => {
  const content = Buffer.from('Subject: inner\r\n\r\nHi\r\n')
  const root = await read({ attachments: [{ ...file, contentType: 'message/rfc822', content }] })
  const inner = leaves(root).at(-1)
  expect(inner?.header('content-type')).toContain('message/rfc822')
  expect(inner?.header('content-transfer-encoding')).toBe('7bit')
})

test.each([
  ['bare CR and LF', 'a\rb\nc\r\nd\r', 'a\r\nb\r\nc\r\nd\r\n'],
  ['controls', 'a\u0000b\u001bc', 'a\u0000b\u001bc'],
  ['half a surrogate pair', 'a\ud800b', 'a\ufffdb'],
])('%s in a body', async (_, text, expected) => {
  const message = await compose({ text, html: null })
  expectClean(message)
  expect(leaves(readMessage(message))[0]?.content.toString().trimEnd()).toBe(expected.trimEnd())
})

test.each([
  ['Latin', '<p>Viele Grüße an dich und alle 😀 anderen a\r\nb\nc  </p>\r', 'quoted-printable'],
  ['Chinese', '你好，世界。\n', 'base64'],
])(
  'a long %s body: same text, same bytes, the event loop stays free',
  async (_, piece, encoding) => {
    const html = piece.repeat(Math.ceil(6_000_000 / piece.length))
    let turns = 0
    let composing = true
    const ticking = (async () => {
      for (; composing; turns++) await nextTurn()
    })()
    const message = await compose({ html, text: '' })
    composing = false
    await ticking
    expect(turns).toBeGreaterThan(40)
    const part = leaves(readMessage(message))[0]
    expect(part?.header('content-transfer-encoding')).toBe(encoding)
    expect(part?.content.toString().trimEnd()).toBe(html.replace(/\r\n?|\n/g, '\r\n').trimEnd())
    expect(message.equals(await compose({ html, text: '' }))).toBe(true)
  },
)

test('attachments are bytes: no file and no URL is read', async () => {
  const message = await compose({
    html: null,
    text: null,
    attachments: [{ ...file, filename: '/etc/passwd', content: Buffer.alloc(0) }],
    headers: { 'X-A': 'https://localhost/' },
  })
  expect(message.toString()).not.toContain('root:')
})

test('mail whose only named recipient was erased says that it goes to nobody who is named', async () => {
  const header = (change: Partial<ComposeInput>) =>
    compose(change).then((message) => message.toString().split('\r\n\r\n', 1)[0] ?? '')
  expect(await header({ to: [] })).toMatch(/^To: undisclosed-recipients:;\r$/m)
  expect(await header({ to: [], cc: base.to })).not.toMatch(/^To:/m)
})
