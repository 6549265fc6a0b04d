// How much of what comes to return paths is read in a minute: who has got a mail knows one of them.
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../../../inbound/reports/listener.ts'
import { createReadBound } from '../../../inbound/reports/readBound.ts'
import { connectInbound, sendInbound, toWire } from './client.ts'
import { feedbackReport, statusReport } from './reports.ts'
import { listenForReports, ours } from './server.ts'

const inbound = listenForReports()
const FBL = 'fbl@mail.example'
const clock = { time: Date.now() }
let port = 0

beforeEach(async () => {
  const listening = await inbound.listen(
    { fblAddress: FBL },
    { now: () => new Date(clock.time), count: () => {} },
  )
  port = listening.port
  onTestFinished(() => listening.stop())
})

const large = `${statusReport()}${'A: b\r\n'.repeat(Math.floor((MESSAGE_BYTES_MAX - 2_000) / 6))}`

const send = async (message: string, to = ours(41), from = '') =>
  String((await sendInbound(port, { to, message, from })).at(-1)).slice(0, 9)

/** The reply to a small report of another client. */
async function sendElsewhere(localAddress: string, to: string, message: string): Promise<string> {
  const client = await connectInbound(port, localAddress)
  onTestFinished(() => client.close())
  for (const line of ['EHLO a.test', 'MAIL FROM:<>', `RCPT TO:<${to}>`, 'DATA']) {
    await client.say(line)
  }
  return (await client.say(toWire(message))).slice(0, 9)
}

test('of one client 8 MiB are read in a minute, then put off; others go on', async () => {
  const replies: string[] = []
  for (let i = 0; i < 9; i++) replies.push(await send(large))
  expect(replies).toEqual([...Array(8).fill('250 2.0.0'), '451 4.7.1'])
  expect(inbound.heard.map(({ id }) => id)).toEqual(Array(8).fill(41))
  expect(await send(statusReport(), ours(42), 'a@b.example')).toBe('451 4.7.1')

  expect(await sendElsewhere('127.0.0.2', ours(43), statusReport())).toBe('250 2.0.0')
  expect(inbound.heard.at(-1)?.id).toBe(43)
  // The mailbox of feedback loops has bounds of its own.
  expect(await send(feedbackReport(), FBL)).toBe('250 2.0.0')
  clock.time += 60_000
  expect(await send(large)).toBe('250 2.0.0')
})

test('a relay may return a thousand small reports in a minute', () => {
  const allow = createReadBound(() => new Date(clock.time))
  const report = Buffer.from(statusReport())
  for (let i = 0; i < 1_000; i++) allow(report, '192.0.2.1')
})

test('of all clients together 32 MiB are read', () => {
  const allow = createReadBound(() => new Date(clock.time))
  const clients = Array.from({ length: 40 }, (_, i) => `192.0.2.${i}`)
  const mebibyte = Buffer.alloc(1024 * 1024)
  for (const client of clients.slice(0, 32)) allow(mebibyte, client)
  for (const client of clients.slice(32)) expect(() => allow(mebibyte, client)).toThrow('4.7.1')
  clock.time += 60_000
  allow(mebibyte, '192.0.2.1')
})
