// The listener for bounces: what it accepts from whom, and its limits.

import { describe, expect, onTestFinished, test } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../../../inbound/reports/listener.ts'
import { verpAddress } from '../../../mail/tracking/mailboxes.ts'
import { createSecrets } from '../../../runtime/secrets.ts'
import { connectInbound, sendInbound, toWire } from './client.ts'
import { feedbackReport, statusReport } from './reports.ts'
import { DOMAIN, listenForReports, ours } from './server.ts'

const inbound = listenForReports()

const last = async (mail: Parameters<typeof sendInbound>[1]) =>
  (await sendInbound(inbound.port, mail)).at(-1)

describe('a report', () => {
  test('from the null sender to a valid return path is accepted', async () => {
    expect(await last({ to: ours(41), message: statusReport() })).toBe('250 2.0.0 Report taken')
    expect(inbound.heard).toMatchObject([{ id: 41, report: { kind: 'bounce', status: '5.1.1' } }])
    expect(inbound.counted).toEqual(['bounce taken'])
  })

  test('is stored once for each recipient, in any case of letters', async () => {
    const to = [ours(41), ours(42), ours(41).toUpperCase()]
    expect(await last({ to, message: statusReport() })).toMatch(/^250 /)
    expect(inbound.heard.map(({ id }) => id)).toEqual([41, 42])
  })

  test.each([
    ['another MAC', ours(41).replace(/\.(.)/, (_, x) => `.${x === '0' ? '1' : '0'}`)],
    ['the MAC of another delivery', ours(42).replace('+42.', '+41.')],
    ['another domain', ours(41).replace('sender', 'other')],
    ['a domain above', ours(41).replace('@bounces.', '@')],
    ['another secret', verpAddress(createSecrets(Buffer.alloc(32, 8)).mac('verp'), 41, DOMAIN)],
    ['no MAC', `b+41@${DOMAIN}`],
    ['postmaster', `postmaster@${DOMAIN}`],
    ['a stranger', 'somebody@elsewhere.test'],
    ['a route', `somebody%elsewhere.test@${DOMAIN}`],
  ])('to %s is refused', async (_, to) => {
    const replies = await sendInbound(inbound.port, { to, message: statusReport() })
    expect(replies.at(-1)).toBe('550 5.1.1 There is no such return path here')
    expect(replies).toHaveLength(3)
    expect(inbound.heard).toEqual([])
  })

  test('from another sender is refused, unless it is a report of a feedback loop', async () => {
    const from = 'somebody@elsewhere.test'
    expect(await last({ from, to: ours(41), message: statusReport() })).toBe(
      '550 5.7.1 Only reports are taken here, from the null sender',
    )
    expect(await last({ from, to: ours(41), message: 'Subject: Hi\n\nHi' })).toMatch(
      /^550 5\.7\.1 /,
    )
    expect(inbound.heard).toEqual([])
    expect(await last({ from, to: ours(41), message: feedbackReport() })).toMatch(/^250 /)
    expect(await last({ from, to: ours(41), message: feedbackReport('not-spam') })).toMatch(/^250 /)
    expect(inbound.heard.map(({ report }) => report.kind)).toEqual(['complaint', 'nothing'])
  })

  test('is refused temporarily if it cannot be committed, or if its delivery is under way', async () => {
    inbound.answer = () => Promise.reject(new Error('the database is away'))
    expect(await last({ to: ours(41), message: statusReport() })).toBe(
      '451 4.3.0 Local error in processing, try again later',
    )
    inbound.answer = async () => 'under_way'
    expect(await last({ to: ours(41), message: statusReport() })).toBe(
      '451 4.3.0 That mail is still under way, try again later',
    )
  })

  test('is accepted only after its commit', async () => {
    let commit = () => {}
    inbound.answer = () =>
      new Promise((resolve) => {
        commit = () => resolve('taken')
      })
    const client = await connectInbound(inbound.port)
    onTestFinished(() => client.close())
    for (const line of ['EHLO a.test', 'MAIL FROM:<>', `RCPT TO:<${ours(41)}>`, 'DATA']) {
      await client.say(line)
    }
    let said = ''
    const reply = client.say(toWire(statusReport())).then((text) => {
      said = text
    })
    await expect.poll(() => inbound.heard).toHaveLength(1)
    expect(said).toBe('')
    commit()
    await reply
    expect(said).toMatch(/^250 /)
  })

  test('that ends before its dot is not stored', async () => {
    const client = await connectInbound(inbound.port)
    for (const line of ['EHLO a.test', 'MAIL FROM:<>', `RCPT TO:<${ours(41)}>`, 'DATA']) {
      await client.say(line)
    }
    client.socket.end(statusReport())
    expect(await client.hear()).toBe('')
    expect(await last({ to: ours(42), message: statusReport() })).toMatch(/^250 /)
    expect(inbound.heard.map(({ id }) => id)).toEqual([42])
  })
})

describe('limits', () => {
  const padded = (bytes: number) => {
    const report = statusReport()
    const line = `${'x'.repeat(98)}\r\n`
    const lines = Math.floor((bytes - report.length) / line.length)
    const rest = bytes - report.length - lines * line.length
    return `${line.repeat(lines)}${'x'.repeat(Math.max(rest - 2, 0))}\r\n`
  }

  test('size: 1 MiB is accepted, a byte more is 552, and a larger SIZE is refused at once', async () => {
    const whole = (bytes: number) => `${statusReport()}${padded(bytes)}`
    expect(Buffer.byteLength(whole(MESSAGE_BYTES_MAX))).toBe(MESSAGE_BYTES_MAX)
    expect(await last({ to: ours(41), message: whole(MESSAGE_BYTES_MAX) })).toMatch(/^250 /)
    expect(inbound.heard).toHaveLength(1)
    expect(await last({ to: ours(41), message: whole(MESSAGE_BYTES_MAX + 1) })).toMatch(/^552 /)
    const client = await connectInbound(inbound.port)
    onTestFinished(() => client.close())
    await client.say('EHLO a.test')
    expect(await client.say(`MAIL FROM:<> SIZE=${MESSAGE_BYTES_MAX + 1}`)).toMatch(/^552 /)
    expect(await client.say(`MAIL FROM:<> SIZE=${MESSAGE_BYTES_MAX}`)).toMatch(/^250 /)
    expect(inbound.heard).toHaveLength(1)
  })

  test('recipients: a hundred in one message, then 452', async () => {
    const client = await connectInbound(inbound.port)
    onTestFinished(() => client.close())
    await client.say('EHLO a.test')
    await client.say('MAIL FROM:<>')
    for (let id = 1; id <= 100; id++) {
      expect(await client.say(`RCPT TO:<${ours(id)}>`)).toMatch(/^250 /)
    }
    expect(await client.say(`RCPT TO:<${ours(101)}>`)).toMatch(/^452 /)
    await client.say('DATA')
    expect(await client.say(toWire(statusReport()))).toMatch(/^250 /)
    expect(inbound.heard).toHaveLength(100)
  })

  test('unknown recipients: the twentieth ends the connection', async () => {
    const client = await connectInbound(inbound.port)
    await client.say('EHLO a.test')
    await client.say('MAIL FROM:<>')
    const replies: string[] = []
    for (let i = 0; i < 20; i++) replies.push(await client.say(`RCPT TO:<x${i}@${DOMAIN}>`))
    expect(replies.slice(0, 19).every((reply) => reply.startsWith('550 5.1.1 '))).toBe(true)
    expect(replies[19]).toMatch(/^421 4\.7\.0 /)
    expect(await client.hear()).toBe('')
  })

  test('connections of one address: the 21st is 421, and another is accepted when one has ended', async () => {
    const clients = await Promise.all(
      Array.from({ length: 20 }, () => connectInbound(inbound.port)),
    )
    onTestFinished(() => {
      for (const client of clients) client.close()
    })
    expect(clients.map(({ banner }) => banner.slice(0, 4))).toEqual(Array(20).fill('220 '))
    const refused = await connectInbound(inbound.port)
    expect(refused.banner).toMatch(/^421 4\.7\.0 /)
    expect(await refused.hear()).toBe('')
    await clients[0]?.say('QUIT')
    clients[0]?.close()
    await expect
      .poll(async () => {
        const client = await connectInbound(inbound.port)
        client.close()
        return client.banner
      })
      .toMatch(/^220 /)
  })

  test('connections of all addresses: the next after a hundred is 421', async () => {
    const busy = await inbound.listen()
    const addresses = Array.from({ length: 100 }, (_, i) => `127.0.0.${2 + Math.floor(i / 20)}`)
    const clients = await Promise.all(
      addresses.map((address) => connectInbound(busy.port, address)),
    )
    onTestFinished(async () => {
      for (const client of clients) client.close()
      await busy.stop()
    })
    expect(clients.filter(({ banner }) => !banner.startsWith('220 '))).toEqual([])
    const refused = await connectInbound(busy.port, '127.0.0.9')
    expect(refused.banner).toMatch(/^421 /)
    expect(await refused.hear()).toBe('')
  })

  test('time: a connection is closed after its longest time, even in the middle of a message', async () => {
    const brief = await inbound.listen({}, { life_ms: 1_000 })
    onTestFinished(brief.stop)
    const client = await connectInbound(brief.port)
    for (const line of ['EHLO a.test', 'MAIL FROM:<>', `RCPT TO:<${ours(41)}>`, 'DATA']) {
      expect(await client.say(line)).toMatch(/^[23]/)
    }
    expect(await client.say(Buffer.from(statusReport()))).toBe('')
    expect(inbound.heard).toEqual([])
  })

  test('an endless command line', async () => {
    const client = await connectInbound(inbound.port)
    expect(await client.say(Buffer.alloc(64 * 1024, 'x'))).toMatch(/^421 /)
    expect(await client.hear()).toBe('')
  })
})
