// Mail for the postmaster of our domains: forwarded to the operator by a real server, never stored, never in a circle.
// Long because all of it shares the listener and the operator's server, which its head makes.
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest'
import type { InboundDeps } from '../../../inbound/reports/listener.ts'
import { createRelayTransport } from '../../../mail/smtp/relay.ts'
import { unsubscribeMailbox } from '../../../mail/tracking/mailboxes.ts'
import { type SmtpSink, startSmtp } from '../../setup/smtp.ts'
import { connectInbound, sendInbound, toWire } from './client.ts'
import { statusReport } from './reports.ts'
import { listenForReports, ours } from './server.ts'

const OPERATOR = 'ops@operator.example'
const inbound = listenForReports()
const clock = { time: Date.UTC(2026, 10, 22, 10) }
const counted: string[] = []
let sink: SmtpSink
let port = 0
let stop = async () => {}

const transportTo = (url: string) =>
  createRelayTransport({ url, connections: 5, ehloName: 'us.test', timeouts: { connectMs: 500 } })
const listen = (
  transport: InboundDeps['transport'],
  postmaster: string | null = OPERATOR,
  listenPort = 0,
) =>
  inbound.listen(
    { postmaster, fblAddress: 'fbl@mail.example', port: listenPort },
    {
      now: () => new Date(clock.time),
      transport,
      isSendingDomain: async (names) => names.includes('shop.example'),
      countPostmaster: (outcome) => void counted.push(outcome),
    },
  )

beforeAll(async () => {
  sink = await startSmtp()
  const transport = transportTo(sink.url)
  const listening = await listen(transport)
  port = listening.port
  stop = async () => {
    await listening.stop()
    await transport.close()
    await sink.stop()
  }
})
afterAll(() => stop())
beforeEach(() => {
  clock.time += 3_600_000
  counted.length = 0
  sink.mails.length = 0
  sink.setScript({})
})
afterEach(() => expect(inbound.left).toEqual([]))

const MESSAGE = 'From: A <a@b.example>\r\nSubject: Your server\r\n\r\n.dot\r\n..\r\nHi\r\n'
const send = (to: string | string[], mail: { from?: string; message?: string } = {}, at = port) =>
  sendInbound(at, { from: 'a@b.example', to, message: MESSAGE, ...mail })
const last = async (...given: Parameters<typeof send>) => (await send(...given)).at(-1)

describe('mail for the postmaster', () => {
  test.each([
    'postmaster@mx.mail.test',
    'POSTMASTER@MX.mail.test',
    'postmaster@worker.mail.test',
    'postmaster@shop.example',
    'Postmaster@bounces.shop.example',
  ])('of %s goes to the operator, with its return path and every byte', async (to) => {
    expect(await last(to)).toMatch(/^250 /)
    expect(sink.mails.map((mail) => [mail.from, mail.to])).toEqual([['a@b.example', [OPERATOR]]])
    const text = sink.mails[0]?.raw.toString('latin1') ?? ''
    const at = new Date(clock.time).toUTCString().replace('GMT', '+0000')
    expect(text).toBe(
      `Received: from mx.remote.test ([127.0.0.1])\r\n\tby mx.mail.test (for the postmaster) with ESMTP;\r\n\t${at}\r\n${MESSAGE}`,
    )
    expect(counted).toEqual(['forwarded'])
  })

  test('without a domain, as RFC 5321 has it', async () => {
    expect(await last('Postmaster')).toMatch(/^250 /)
    expect(sink.mails).toHaveLength(1)
  })

  test('from nobody stays from nobody', async () => {
    expect(await last('postmaster@mx.mail.test', { from: '' })).toMatch(/^250 /)
    expect(sink.mails.map((mail) => mail.from)).toEqual([''])
  })

  test.each([
    'postmaster@elsewhere.example',
    'postmaster@bounces.elsewhere.example',
    'postmaster@[127.0.0.1]',
    'postmaster+x@mx.mail.test',
    'x-postmaster@mx.mail.test',
  ])('of %s is refused', async (to) => {
    expect(await last(to)).toMatch(/^550 5\.1\.1 /)
    expect(sink.mails).toEqual([])
  })

  test('is refused where no address is configured', async () => {
    expect(await last('postmaster@mx.mail.test', {}, inbound.port)).toMatch(/^550 5\.1\.1 /)
  })

  test('is taken beside a report, each for itself', async () => {
    const mail = { from: '', message: statusReport() }
    expect(await last([ours(7), 'postmaster@mx.mail.test'], mail)).toMatch(/^250 /)
    expect(inbound.heard.map(({ id }) => id)).toEqual([7])
    expect(sink.mails).toHaveLength(1)
  })
})

describe("the operator's server", () => {
  test('has taken the mail before we do', async () => {
    let go = () => {}
    const hold = new Promise<void>((resolve) => {
      go = resolve
    })
    sink.setScript({ ops: { at: 'dot', reply: '250 OK', hold } })
    let said: string | undefined
    const sent = last('postmaster@mx.mail.test').then((reply) => {
      said = reply
    })
    await expect.poll(() => sink.attempts.get(OPERATOR)).toBeGreaterThan(0)
    expect(said).toBeUndefined()
    go()
    await sent
    expect(said).toMatch(/^250 /)
  })

  test('is waited for when we stop: the sender, told to come again, would send it twice', async () => {
    const transport = transportTo(sink.url)
    const here = await listen(transport)
    let go = () => {}
    const hold = new Promise<void>((resolve) => {
      go = resolve
    })
    sink.setScript({ ops: { at: 'dot', reply: '250 OK', hold } })
    const tries = () => sink.attempts.get(OPERATOR) ?? 0
    const before = tries()
    const reply = last('postmaster@mx.mail.test', {}, here.port)
    await expect.poll(tries).toBeGreaterThan(before)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldClearNativeTimers: true })
    const stopped = here.stop()
    // More than sessions without a message have to end.
    vi.advanceTimersByTime(10_000)
    vi.useRealTimers()
    go()
    expect(await reply).toMatch(/^250 /)
    await stopped
    await transport.close()
  })

  test.each([
    ['550 5.1.1 <ops@operator.example> no such user', '554 5.0.0', 'refused'],
    ['452 4.2.2 full', '451 4.4.1', 'later'],
    ['drop', '451 4.4.1', 'later'],
  ])('says %s: the sender is told %s, and no address', async (reply, told, outcome) => {
    sink.setScript({ ops: { at: 'dot', reply } })
    const answer = await last('postmaster@mx.mail.test')
    expect(answer).toMatch(new RegExp(`^${told} `))
    expect(answer).not.toContain('ops@')
    expect(counted).toEqual([outcome])
  })

  test('is away: the sender keeps the mail', async () => {
    await sink.stop()
    expect(await last('postmaster@mx.mail.test')).toMatch(/^451 4\.4\.1 /)
    await sink.start()
    clock.time += 60_000
    expect(await last('postmaster@mx.mail.test')).toMatch(/^250 /)
  })
})

describe('a circle', () => {
  const received = (count: number) => 'Received: from a by b;\r\n\tx\r\n'.repeat(count)

  test('of a hundred hops ends here, and one of fewer goes on', async () => {
    const to = 'postmaster@mx.mail.test'
    expect(await last(to, { message: received(99) + MESSAGE })).toMatch(/^250 /)
    expect(await last(to, { message: received(100) + MESSAGE })).toMatch(/^554 5\.4\.6 /)
    // What the body says is no hop.
    expect(await last(to, { message: `${MESSAGE}\r\n${received(200)}` })).toMatch(/^250 /)
    expect(counted).toEqual(['forwarded', 'loop', 'forwarded'])
  })

  test('that comes back here ends at once', async () => {
    await send('postmaster@mx.mail.test')
    const again = sink.mails[0]?.raw.toString('latin1') ?? ''
    const message = `Received: from x by y;\r\n\tz\r\n${again}`
    expect(await last('postmaster@mx.mail.test', { message })).toMatch(/^554 5\.4\.6 /)
    expect(sink.mails).toHaveLength(1)
  })

  test("between ourselves ends after one round: the operator's address leads here", async () => {
    let target: InboundDeps['transport'] = null
    const here = await listen(
      { send: (...mail) => target?.send(...mail) ?? Promise.reject(new Error('too early')) },
      'postmaster@shop.example',
    )
    const transport = transportTo(`smtp://127.0.0.1:${here.port}`)
    target = transport
    onTestFinished(async () => {
      await here.stop()
      await transport.close()
    })
    expect(await last('postmaster@shop.example', {}, here.port)).toMatch(/^554 5\.0\.0 /)
    expect(counted).toEqual(['loop', 'refused'])
  })

  test.each([
    ['its own', 'postmaster@mx.mail.test'],
    ['its own, in other letters', 'Postmaster@Worker.Mail.Test'],
    ['the mailbox of feedback loops', 'fbl@mail.example'],
    ['a return path', ours(1)],
    [
      'an unsubscribe address',
      unsubscribeMailbox('AbCdEfGhIjKlMnOpQrStUw', 'bounces.shop.example'),
    ],
  ])('by an address that is %s: it does not start', async (_, postmaster) => {
    await expect(listen(null, postmaster)).rejects.toThrow('POSTMASTER')
  })
})

describe('how much', () => {
  test('one client may name the postmaster five times in a minute', async () => {
    const client = await connectInbound(port)
    onTestFinished(() => client.close())
    await client.say('EHLO a.test')
    const replies: string[] = []
    const ask = async (to: string) => {
      await client.say('MAIL FROM:<>')
      replies.push((await client.say(`RCPT TO:<${to}>`)).slice(0, 10))
      await client.say('RSET')
    }
    for (let i = 0; i < 6; i++) await ask(i % 2 ? 'postmaster@x.example' : 'postmaster')
    const other = await connectInbound(port, '127.0.0.2')
    await other.say('EHLO b.test')
    await other.say('MAIL FROM:<>')
    expect(await other.say('RCPT TO:<postmaster>')).toMatch(/^250 /)
    other.close()
    expect(replies.map((reply) => reply.slice(0, 3))).toEqual([
      '250',
      '550',
      '250',
      '550',
      '250',
      '451',
    ])
    clock.time += 60_000
    await ask('postmaster')
    expect(replies.at(-1)).toMatch(/^250 /)
    expect(counted).toEqual(['too_many'])
  })

  test('all may send twenty in a minute', async () => {
    const replies = []
    for (let i = 0; i < 21; i++) {
      const client = await connectInbound(port, `127.0.0.${10 + i}`)
      for (const line of ['EHLO a.test', 'MAIL FROM:<>', 'RCPT TO:<postmaster>', 'DATA']) {
        await client.say(line)
      }
      replies.push((await client.say(toWire(MESSAGE))).slice(0, 9))
      client.close()
    }
    expect(replies.slice(0, 20).filter((reply) => !reply.startsWith('250 '))).toEqual([])
    expect(replies[20]).toBe('451 4.7.1')
    clock.time += 60_000
    expect(await last('postmaster@mx.mail.test')).toMatch(/^250 /)
  })

  test('no more than five at once', async () => {
    let go = () => {}
    const hold = new Promise<void>((resolve) => {
      go = resolve
    })
    const before = sink.attempts.get(OPERATOR) ?? 0
    sink.setScript((rcpt, attempt) =>
      attempt - before <= 5 && rcpt === OPERATOR
        ? { at: 'rcpt', reply: '250 OK', hold }
        : undefined,
    )
    const sent = Array.from({ length: 5 }, () => last('postmaster@mx.mail.test'))
    await expect.poll(() => (sink.attempts.get(OPERATOR) ?? 0) - before).toBe(5)
    const client = await connectInbound(port, '127.0.0.99')
    for (const line of ['EHLO a.test', 'MAIL FROM:<>', 'RCPT TO:<postmaster>', 'DATA']) {
      await client.say(line)
    }
    expect(await client.say(toWire(MESSAGE))).toMatch(/^451 4\.7\.1 /)
    client.close()
    go()
    expect((await Promise.all(sent)).filter((reply) => !reply?.startsWith('250 '))).toEqual([])
  })
})
