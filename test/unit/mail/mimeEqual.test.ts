// The MIME writer against nodemailer's: both messages read the same, for any content.
import fc from 'fast-check'
import MailComposer from 'nodemailer/lib/mail-composer'
import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import type { ComposeInput } from '../../../mail/compose/input.ts'
import { composeMessage } from '../../../mail/compose/mime.ts'
import { isReservedHeader } from '../../../rules/mail/headers.ts'
import { readMessage } from './reader.ts'

const pieces = fc.constantFrom(
  ...['a', 'Wort ', '.', '..', '=', '=?', 'ü', '你好', '😀', ' ', '  ', '\t', '\n', '\r\n', '\r'],
  ...['<p>', '&amp;', 'x'.repeat(80), '-', '--', '"', '\\', ',', '_', '?', '\u0007', 'From '],
)
const body = fc.array(pieces, { minLength: 1, maxLength: 60 }).map((parts) => parts.join(''))
const phrase = fc
  .array(
    fc.constantFrom(
      'a',
      'Wort',
      'ü',
      '你好',
      '😀',
      '"',
      '\\',
      ',',
      '=',
      '_',
      '.',
      '(',
      'y'.repeat(40),
    ),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(' '))
const local = fc.constantFrom('ann', 'o.b', "x+y'z", 'a'.repeat(64))
const host = fc.constantFrom(
  'a.test',
  'mail-1.b.test',
  'xn--grn-hoa.test',
  `${'d'.repeat(60)}.test`,
)
const mailbox = fc.record({
  name: fc.option(phrase),
  address: fc.tuple(local, host).map(([name, domain]) => `${name}@${domain}`),
})
const ids = fc.constantFrom('<a@b.test>', '<a@b.test> <c@d.test>')
const texts = fc.oneof(phrase, ids, fc.constantFrom('', 'z'.repeat(700)))
const headers = fc
  .tuple(
    fc.dictionary(fc.constantFrom('X-Order', 'x-ref', 'List-Id', 'Bcc', 'Precedence'), texts),
    fc.dictionary(fc.constantFrom('In-Reply-To', 'References'), ids),
  )
  .map(([free, structured]) => ({ ...free, ...structured }))

const emails: fc.Arbitrary<ComposeInput> = fc.record({
  id: fc.constant('em_1'),
  from: mailbox,
  to: fc.array(mailbox, { minLength: 1, maxLength: 30 }),
  cc: fc.array(mailbox, { maxLength: 3 }),
  replyTo: fc.array(mailbox, { maxLength: 2 }),
  subject: fc.oneof(phrase, body),
  html: fc.option(body),
  text: body,
  date: fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }),
  messageId: fc.constant('m1@a.test'),
  headers,
  attachments: fc.constant([]),
  unsubscribe: fc.constantFrom(null, { url: 'https://u.test/u/abc', mailto: 'u+1@b.a.test' }),
  feedbackId: fc.constantFrom(null, 'a:b:c:dripline'),
  automatic: fc.constant('no'),
})

/** A message as a reader sees it. Spaces in free text are normalised, because folding may change them. */
async function shown(message: Buffer) {
  const { headers, ...email } = await PostalMime.parse(message)
  const read = readMessage(message)
  const names = headers.map(({ key }) => key).filter((key) => !key.startsWith('content-'))
  const own = names.filter((name) => /^(x-|list-|feedback-|precedence)/.test(name))
  const lines = (text: string | undefined) => text?.replace(/\r\n/g, '\n').trimEnd()
  const words = (text: string | null | undefined) => text?.replace(/\s+/g, ' ').trim()
  return {
    names: names.sort(),
    from: email.from,
    to: email.to,
    cc: email.cc,
    replyTo: email.replyTo,
    subject: words(email.subject),
    date: email.date,
    messageId: email.messageId,
    inReplyTo: email.inReplyTo,
    references: email.references,
    own: own.map((name) => `${name}: ${words(read.header(name))}`).sort(),
    text: lines(email.text),
    html: lines(email.html),
    attachments: email.attachments.length,
  }
}

const crlf = (text: string) => text.replace(/\r\n?|\n/g, '\r\n')

/** The same mail, written by nodemailer alone. */
function byNodemailer(email: ComposeInput): Promise<Buffer> {
  const toAddress = ({ name, address }: ComposeInput['from']) => ({ name: name ?? '', address })
  const asIs = (value: string) => ({ prepared: true, foldLines: true, value }) as const
  const { unsubscribe, feedbackId, html, text } = email
  const own = Object.entries(email.headers).filter(([name]) => !isReservedHeader(name))
  const composer = new MailComposer({
    newline: 'windows',
    from: toAddress(email.from),
    to: email.to.map(toAddress),
    cc: email.cc.map(toAddress),
    replyTo: email.replyTo.map(toAddress),
    subject: email.subject,
    date: email.date,
    messageId: `<${email.messageId}>`,
    headers: [
      ...own.map(([key, value]) => ({ key, value })),
      ...(unsubscribe
        ? [
            {
              key: 'List-Unsubscribe',
              value: asIs(`<${unsubscribe.url}>, <mailto:${unsubscribe.mailto}>`),
            },
            { key: 'List-Unsubscribe-Post', value: asIs('List-Unsubscribe=One-Click') },
          ]
        : []),
      ...(feedbackId ? [{ key: 'Feedback-ID', value: asIs(feedbackId) }] : []),
    ],
    text: crlf(text ?? ''),
    ...(html ? { html: crlf(html) } : {}),
  })
  return composer.compile().build()
}

test('any mail reads the same', async () => {
  await fc.assert(
    fc.asyncProperty(emails, async (email) => {
      const written = await composeMessage(email)
      expect(/(?<!\r)\n|\r(?!\n)|[^\t\r\n\x20-\x7e]/.test(written.toString('latin1'))).toBe(false)
      const lengths = written
        .toString('latin1')
        .split('\r\n')
        .map((line) => line.length)
      expect(Math.max(...lengths)).toBeLessThanOrEqual(998)
      expect(await shown(written)).toEqual(await shown(await byNodemailer(email)))
    }),
    { numRuns: 200 },
  )
}, 60_000)
