// Text that looks like an encoded word (RFC 2047): two independent readers show exactly what was given.
import fc from 'fast-check'
import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import type { ComposeInput } from '../../../mail/compose/input.ts'
import { composeMessage } from '../../../mail/compose/mime.ts'
import { type PythonMail, readWithPython } from '../../setup/pythonEmail.ts'

const literals = [
  '=?utf-8?Q?a=0d=0aBcc:_evil@x.test?=',
  '=?UTF-8?B?YQ0KQmNjOiBldmlsQHgudGVzdA==?=',
  'Re: =?iso-8859-1?q?=FCber?= all',
  '=?utf-8?q?a?= =?utf-8?q?b?=',
  '=?utf-8?Q?a b?=',
  'x=?utf-8?q?b?=y',
  'ü =?utf-8?q?b?= 你好',
  '=?utf-8?q?b',
  'a=?b',
  '=?',
  '?= =?',
  '=?utf-8?X?b?=',
  '=?utf-8*en?q?b?=',
  `${'w'.repeat(70)} =?utf-8?q?b?= ${'w'.repeat(150)}`,
  '=?utf-8?q?b?='.repeat(15),
]

const base: ComposeInput = {
  id: 'em_1',
  from: { name: null, address: 'ann@a.test' },
  to: [{ name: null, address: 'bo@b.test' }],
  cc: [],
  replyTo: [],
  subject: 'Hello',
  html: '<p>Hello</p>',
  text: 'Hello',
  date: new Date('2026-11-21T10:00:00.123Z'),
  messageId: 'm1@a.test',
  headers: {},
  attachments: [],
  unsubscribe: null,
  feedbackId: null,
  automatic: 'no',
}
const file = { content: Buffer.from('a'), contentType: null, contentId: null }

/** A message with the text in every field that shows text. */
const compose = (text: string) =>
  composeMessage({
    ...base,
    from: { name: text, address: 'ann@a.test' },
    subject: text,
    headers: { 'X-Own': text },
    attachments: [
      { ...file, filename: `${text}.txt` },
      { ...file, filename: `${text}.png`, contentId: 'logo' },
    ],
  })

const headerOf = ({ headers }: PythonMail, name: string) =>
  headers.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value)

/**
 * What both readers show, which must be the given text. File names are left to Python: postal-mime decodes them twice,
 * by RFC 2231 and then by RFC 2047, whatever was sent.
 */
async function expectShown(texts: readonly string[]): Promise<void> {
  const messages = await Promise.all(texts.map(compose))
  const python = await readWithPython(messages)
  for (const [i, message] of messages.entries()) {
    const text = texts[i] ?? ''
    const files = [`${text}.png`, `${text}.txt`]
    const mail = await PostalMime.parse(message)
    expect([mail.subject, mail.from?.name, mail.bcc]).toEqual([text, text, undefined])
    const read = python[i]
    if (!read) throw new Error('Python read fewer messages')
    expect({
      subject: headerOf(read, 'subject'),
      own: headerOf(read, 'x-own'),
      from: read.name,
      files: read.files.sort(),
      bcc: headerOf(read, 'bcc'),
    }).toEqual({ subject: [text], own: [text], from: text, files, bcc: [] })
  }
}

test('literal encoded words are shown as they were given', { timeout: 60_000 }, async () => {
  await expectShown(literals)
})

test('any mixture of the pieces of encoded words is shown as it was given', {
  timeout: 60_000,
}, async () => {
  const pieces = [
    '=?',
    '?=',
    'utf-8',
    '?q?',
    '?B?',
    '=0d=0a',
    'YQ==',
    'a',
    'ü',
    ' ',
    '_',
    '"',
    '\\',
  ]
  const texts = fc
    .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 20 })
    .map((parts) => parts.join('').replace(/ +/g, ' ').trim())
    .filter((text) => text !== '')
  await expectShown(fc.sample(texts, { numRuns: 100, seed: 20_261_122 }))
})

test('without attachments the header is the same', async () => {
  for (const text of literals) {
    const message = await composeMessage({ ...base, subject: text, headers: { 'X-Own': text } })
    expect((await PostalMime.parse(message)).subject).toBe(text)
  }
})

test('in message ids, content ids and structured headers no encoded word is left', async () => {
  const word = '=?utf-8?Q?a=0d=0aBcc:_evil@x.test?='
  const message = await composeMessage({
    ...base,
    headers: {
      References: `<a@b.test> <${word}>`,
      'In-Reply-To': word,
      'List-Unsubscribe': `<https://u.test/${word}>`,
    },
    attachments: [{ ...file, filename: 'a.png', contentId: word }],
  })
  const text = message.toString('latin1')
  expect(text).not.toContain(word)
  expect(text).toContain('References: <a@b.test>\r\n')
  expect(text).not.toMatch(/^(in-reply-to|bcc):/im)
  expect((await PostalMime.parse(message)).bcc).toBeUndefined()
})

test('a folded header has no blank line', async () => {
  const wide = `a${' '.repeat(300)}b`
  const message = await composeMessage({
    ...base,
    from: { name: wide, address: 'ann@a.test' },
    subject: wide,
    headers: { 'X-Own': wide, 'List-Unsubscribe': `<https://u.test/1>,${wide}` },
    unsubscribe: null,
  })
  const header = message.toString('latin1', 0, message.indexOf('\r\n\r\n'))
  expect(header.split('\r\n').filter((line) => line.trim() === '')).toEqual([])
  expect((await PostalMime.parse(message)).subject).toBe(wide)
})

test("the caller's own List-Unsubscribe goes as it is, folded only at spaces", async () => {
  const url = `https://u.test/u/${'t'.repeat(120)}?a=1&b=%3F`
  const headers = {
    'List-Unsubscribe': `<${url}>`,
    'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
  }
  const message = await composeMessage({ ...base, headers })
  const text = message.toString('latin1').replace(/\r\n /g, ' ')
  expect(text).toContain(`List-Unsubscribe: <${url}>\r\n`)
  expect(text).toContain('list-unsubscribe-post: List-Unsubscribe=One-Click\r\n')
})

test('a letter that is ASCII only in lower case is no header name', async () => {
  const message = await composeMessage({ ...base, headers: { '\u212a-Own': 'x' } })
  expect(message.toString('latin1')).not.toMatch(/-own: x/i)
})
