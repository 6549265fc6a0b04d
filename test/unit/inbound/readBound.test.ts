// How much of what comes to return paths and to the mailbox of feedback loops is read in a minute: who has got a mail knows a return path.
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../../../inbound/reports/listener.ts'
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

/** A message of nearly so many bytes. */
const ofBytes = (message: string, bytes: number) =>
  `${message}${'A: b\r\n'.repeat(Math.floor((bytes - 2_000) / 6))}`
const large = ofBytes(statusReport(), MESSAGE_BYTES_MAX)
/** As Postfix returns a mail: up to 50 kB of it. */
const whole = ofBytes(statusReport(), 50_000)

const send = async (message: string, to: string | string[] = ours(41), from = '') =>
  String((await sendInbound(port, { to, message, from })).at(-1)).slice(0, 9)

/** Sends messages on one connection, each with its recipients. @returns the reply to each */
async function sendAll(from: string, mails: [to: string, message: string][]): Promise<string[]> {
  const client = await connectInbound(port, from)
  onTestFinished(() => client.close())
  await client.say('EHLO a.test')
  const replies: string[] = []
  for (const [to, message] of mails) {
    for (const line of ['MAIL FROM:<>', `RCPT TO:<${to}>`, 'DATA']) await client.say(line)
    replies.push((await client.say(toWire(message))).slice(0, 9))
  }
  return replies
}

test('to one return path 2 MiB are read in a minute, then put off; others go on', async () => {
  for (const reply of ['250 2.0.0', '250 2.0.0', '451 4.7.1']) expect(await send(large)).toBe(reply)
  expect(await send(statusReport(), ours(41), 'a@b.example')).toBe('451 4.7.1')
  expect(await send(statusReport(), [ours(40), ours(41)])).toBe('451 4.7.1')
  expect(inbound.heard.map(({ id }) => id)).toEqual([41, 41])

  expect(await send(large, ours(43))).toBe('250 2.0.0')
  // The mailbox of feedback loops has bounds of its own.
  expect(await send(feedbackReport(), FBL)).toBe('250 2.0.0')
  clock.time += 60_000
  expect(await send(large)).toBe('250 2.0.0')
})

test('four clients that fill one return path close no other', async () => {
  for (const last of [1, 2, 3, 4]) {
    await sendAll(`127.0.0.${last}`, Array(8).fill([ours(41), large]))
  }
  expect(await sendAll('127.0.0.5', [[ours(43), statusReport()]])).toEqual(['250 2.0.0'])
  expect(inbound.heard.at(-1)?.id).toBe(43)
})

test('one client with the return paths of many mails closes none for others', async () => {
  const small = ofBytes(statusReport(), 128 * 1024)
  const mails = Array.from({ length: 40 * 8 }, (_, n): [string, string] => [
    ours(100 + (n % 40)),
    small,
  ])
  const read = (await sendAll('127.0.0.1', mails)).indexOf('451 4.7.1')
  expect(read * small.length).toBeGreaterThan(15 * 1024 * 1024)
  expect(read * small.length).toBeLessThan(17 * 1024 * 1024)
  expect(await sendAll('127.0.0.2', [[ours(41), statusReport()]])).toEqual(['250 2.0.0'])
})

test('a relay may return 300 whole mails of 50 kB in a minute', async () => {
  const mails = Array.from({ length: 300 }, (_, id): [string, string] => [ours(id + 1), whole])
  const replies = await sendAll('127.0.0.1', mails)
  expect(replies.filter((reply) => reply !== '250 2.0.0')).toEqual([])
})

test('large reports to many return paths leave half of what is read in a minute to small ones', async () => {
  const paths = Array.from({ length: 40 }, (_, id): [string, string] => [ours(id + 1), large])
  const replies = await sendAll('127.0.0.1', paths)
  expect(replies).toEqual([...Array(16).fill('250 2.0.0'), ...Array(24).fill('451 4.7.1')])
  const mails = Array.from({ length: 400 }, (_, id): [string, string] => [ours(id + 101), whole])
  const small = [
    ...(await sendAll('127.0.0.2', mails.slice(0, 200))),
    ...(await sendAll('127.0.0.3', mails.slice(200))),
  ]
  // The first that is put off, since 32 MiB were read.
  const read = small.indexOf('451 4.7.1')
  expect(read * whole.length).toBeGreaterThan(15 * 1024 * 1024)
  expect(read * whole.length).toBeLessThan(17 * 1024 * 1024)
})

test('to the mailbox of feedback loops 8 MiB of one client are read in a minute', async () => {
  const complaint = ofBytes(feedbackReport(), MESSAGE_BYTES_MAX)
  const replies = await sendAll('127.0.0.1', Array(9).fill([FBL, complaint]))
  expect(replies).toEqual([...Array(8).fill('250 2.0.0'), '451 4.7.1'])
  expect(await sendAll('127.0.0.2', [[FBL, complaint]])).toEqual(['250 2.0.0'])
})
