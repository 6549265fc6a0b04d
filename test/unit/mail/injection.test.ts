// Hostile texts in every field of a message and of its envelope: none escapes from its field.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ComposeInput } from '../../../mail/compose/input.ts'
import { composeMessage } from '../../../mail/compose/mime.ts'
import { createRelayTransport } from '../../../mail/smtp/relay.ts'
import type { MailTransport } from '../../../mail/transport.ts'
import { limits } from '../../../rules/limits.ts'
import { type FaultSink, startFaultSink } from '../../setup/faultSink.ts'
import { faultsOf, hostilePieces, hostileText } from '../../setup/hostileTexts.ts'

let sink: FaultSink
let transport: MailTransport
beforeAll(async () => {
  sink = await startFaultSink()
  transport = createRelayTransport({ url: sink.url, connections: 1, ehloName: 'us.test' })
})
afterAll(async () => {
  await transport.close()
  await sink.close()
})

/** A display name as after the check of an address: not longer than allowed. */
const address = (name: string | null, local: string) => ({
  name: name?.slice(0, limits.nameCharsMax) ?? null,
  address: `${local}@b.test`,
})

/** Addresses and ids are ASCII, or are sent as UTF-8. */
const ascii = (text: string) => text.replace(/\P{ASCII}/gu, '')

/** For each field the texts that a request may put there. */
const fields: Record<string, (evil: string) => Partial<ComposeInput>> = {
  'from.name': (evil) => ({ from: address(evil, 'ann') }),
  'to.name': (evil) => ({ to: [address(evil, 'bo'), address(evil, 'bea')] }),
  'cc.name': (evil) => ({ cc: [address(evil, 'cy')] }),
  'reply_to.name': (evil) => ({ replyTo: [address(evil, 'ray')] }),
  subject: (subject) => ({ subject }),
  html: (html) => ({ html }),
  text: (text) => ({ text }),
  headers: (evil) => ({ headers: { 'X-Own': evil } }),
  'headers.references': (evil) => ({ headers: { References: ascii(evil) } }),
  'headers.sender': (evil) => ({ headers: { Sender: ascii(evil) } }),
  'headers name': (evil) => ({ headers: { [evil]: 'x' } }),
  filename: (filename) => ({ attachments: [{ ...file, filename }] }),
  content_type: (contentType) => ({ attachments: [{ ...file, contentType }] }),
  content_id: (evil) => ({ attachments: [{ ...file, contentId: ascii(evil).slice(0, 255) }] }),
  'the file itself': (evil) => ({ attachments: [{ ...file, content: Buffer.from(evil) }] }),
  message_rfc822: (evil) => ({
    attachments: [{ ...file, contentType: 'message/rfc822', content: Buffer.from(evil) }],
  }),
}
const file = { filename: 'a.txt', content: Buffer.from('a'), contentType: null, contentId: null }

const headerNames = [
  'from',
  'to',
  'cc',
  'reply-to',
  'date',
  'message-id',
  'subject',
  'x-own',
  'references',
  'sender',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'feedback-id',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
]

async function compose(change: Partial<ComposeInput>): Promise<Buffer> {
  return composeMessage({
    id: 'em_01ARZ3NDEKTSV4RRFFQ69G5FAV',
    from: address(null, 'ann'),
    to: [address(null, 'bo')],
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
    ...change,
  })
}

let serial = 0
/** Sends a message to one recipient. The server must have received exactly this message. */
async function expectHarmless(message: Buffer, expected: readonly string[]): Promise<void> {
  expect(faultsOf(message, expected)).toEqual([])
  const to = `r${++serial}@b.test`
  const before = sink.seen.accepted.length
  const envelope = { from: 'b@a.test', to, bytes: message.length }
  const outcome = await transport.send(envelope, message, async () => true)
  expect(outcome.kind).toBe('delivered')
  expect(sink.seen.accepted.slice(before).map((mail) => [mail.from, mail.to])).toEqual([
    ['b@a.test', to],
  ])
  expect(sink.seen.accepted.at(-1)?.bytes.equals(message)).toBe(true)
  expect(sink.seen.strange).toEqual([])
}

test.each(Object.keys(fields))('%s', { timeout: 60_000 }, async (field) => {
  const change = fields[field]
  if (!change) throw new Error(field)
  // A header name of the request is added if it is valid.
  const own = (evil: string) => (field === 'headers name' ? [evil.toLowerCase()] : [])
  const check = async (evil: string) =>
    expectHarmless(await compose(change(evil)), [...headerNames, ...own(evil)])
  for (const piece of hostilePieces) {
    await check(piece).catch((err: unknown) => {
      throw new Error(`${JSON.stringify(piece.slice(0, 200))}: ${String(err)}`)
    })
  }
  await fc.assert(fc.asyncProperty(hostileText, check), { numRuns: 40 })
})

test('all fields at once', { timeout: 60_000 }, async () => {
  const names = Object.keys(fields).filter((field) => field !== 'headers name')
  const all = fc.record(Object.fromEntries(names.map((name) => [name, hostileText])))
  await fc.assert(
    fc.asyncProperty(all, async (texts) => {
      const changes = names.map((name) => fields[name]?.(texts[name] ?? ''))
      await expectHarmless(await compose(Object.assign({}, ...changes)), headerNames)
    }),
    { numRuns: 60 },
  )
})

test('an envelope: refused before anything is sent, or exactly its recipient', {
  timeout: 60_000,
}, async () => {
  const message = await compose({})
  const parts = fc.tuple(hostileText, hostileText, fc.boolean())
  await fc.assert(
    fc.asyncProperty(parts, async ([a, b, inFrom]) => {
      const hostile = `${a}@${b}`
      const envelope = inFrom
        ? { from: hostile, to: 'bo@b.test', bytes: message.length }
        : { from: 'b@a.test', to: hostile, bytes: message.length }
      const before = sink.seen.accepted.length
      const outcome = await transport.send(envelope, message, async () => true)
      const got = sink.seen.accepted.slice(before)
      expect(sink.seen.strange).toEqual([])
      expect(got.length).toBe(outcome.kind === 'delivered' ? 1 : 0)
      if (/[\s<>\p{Cc}]/u.test(hostile)) expect(outcome.kind).not.toBe('delivered')
      for (const mail of got) expect(mail.to).toBe(envelope.to)
    }),
    { numRuns: 200 },
  )
})

test.each(['a\n.\r\nRSET\r\n', 'a\r.\r\nRSET\r\n', 'a\r.\rRSET\r\n', 'a\n.\nRSET\r\n'])(
  'a message with half a line end before a dot is not sent: %j',
  async (body) => {
    const message = Buffer.from(`From: a@a.test\r\n\r\n${body}`)
    const envelope = { from: 'b@a.test', to: 'smuggled@b.test', bytes: message.length }
    expect(await transport.send(envelope, message, async () => true)).toMatchObject({
      kind: 'rejected',
      enhanced: '5.6.0',
    })
    expect(sink.seen.attempts.has('smuggled@b.test')).toBe(false)
  },
)
