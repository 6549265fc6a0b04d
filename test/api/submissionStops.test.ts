// Mail that is submitted while its listener stops, or its client goes: what was refused, or heard by nobody, is not sent.
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { lastReplies } from '../../inbound/submission/lastReplies.ts'
import { listenerRules } from '../../inbound/submission/listener.ts'
import { receiving } from '../../inbound/submission/receive.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { createGate } from '../setup/gate.ts'
import { idOf, logIn, messageOf, startTestSubmission, submit } from '../setup/submission.ts'
import { connectInbound, toWire } from '../unit/inbound/client.ts'

// One large message of a workspace at a time.
receiving.large.ownerBytesMax = 1
const LARGE = 'A line that is one of very many.\r\n'.repeat(40_000)

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const gate = await createGate(api.url, ['emails'])
beforeEach(async () => {
  await api.db.deleteFrom('emails').execute()
  await gate.close()
})
afterEach(() => gate.open())

async function subjects(): Promise<string[]> {
  const emails = await api.db.selectFrom('emails').select('subject').orderBy('subject').execute()
  return emails.map(({ subject }) => subject)
}

/** A listener that remembers the domain, so that its mail is committed as most is. */
async function listen(drain_ms?: number) {
  const server = await startTestSubmission(
    api,
    drain_ms === undefined ? {} : { drain_ms },
    onTestFinished,
  )
  await gate.open()
  expect(await submit(server.port, api.key, messageOf())).toMatch(/^250/)
  await api.db.deleteFrom('emails').execute()
  await gate.close()
  return server
}
type Server = Awaited<ReturnType<typeof listen>>

/** Sends a message with its final dot. @param behind what comes in the same write */
async function begin({ port }: Server, subject: string, body: string, behind = '') {
  const client = await logIn(port, api.key)
  onTestFinished(() => client.close())
  for (const line of ['MAIL FROM:<a@app.test>', 'RCPT TO:<ada@example.test>', 'DATA']) {
    expect(await client.say(line)).toMatch(/^[23]/)
  }
  const message = toWire(messageOf({ Subject: subject }, body))
  return { client, reply: client.say(Buffer.concat([message, Buffer.from(behind)])) }
}

const untilRefused = ({ port }: Server) =>
  eventually(() => expect(connectInbound(port)).rejects.toThrow('ECONNREFUSED'))
const untilConnections = ({ registry }: Server, count: number) =>
  eventually(async () => {
    const told = await registry.getSingleMetricAsString('dripline_submission_connections')
    expect(told.split(' ').at(-1)).toBe(String(count))
  })

test('a client is told what became of its mail, however long that takes when the listener stops', async () => {
  const server = await listen()
  const { client, reply } = await begin(server, 'at the gate', 'Hello')
  await gate.untilAtGate(1)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldClearNativeTimers: true })
  onTestFinished(() => void vi.useRealTimers())
  const stopped = server.stop()
  await untilRefused(server)
  // More than sessions without a message have to end.
  vi.advanceTimersByTime(10_000)
  vi.useRealTimers()
  await gate.open()
  const told = (await reply).slice(0, 3)
  client.close()
  await stopped
  expect([told, await subjects()]).toEqual(['250', ['at the gate']])
})

test('what waits behind other messages when the listener stops is refused, and never written', async () => {
  const server = await listen()
  const first = await begin(server, 'first', LARGE)
  await gate.untilAtGate(1)
  const second = await begin(server, 'second', LARGE)
  const idle = await logIn(server.port, api.key)
  onTestFinished(() => idle.close())
  const stopped = server.stop()
  await untilRefused(server)
  expect(await second.reply).toMatch(/^421 4\.3\.2 service_unavailable: /)
  expect(await idle.say('MAIL FROM:<a@app.test>')).toMatch(/^421 /)
  await gate.open()
  idOf(await first.reply)
  first.client.close()
  await stopped
  expect(await subjects()).toEqual(['first'])
})

test('what is not written within the time of a stop is refused, and undone', async () => {
  const server = await listen(0)
  const { reply } = await begin(server, 'late', 'Hello')
  await gate.untilAtGate(1)
  const stopped = server.stop()
  expect(await reply).toMatch(/^421 4\.3\.2 service_unavailable: /)
  await gate.open()
  await stopped
  expect(await subjects()).toEqual([])
})

test('mail of a client that has gone while it waited is not written', async () => {
  const server = await listen()
  const first = await begin(server, 'first', LARGE)
  await gate.untilAtGate(1)
  // Its end comes behind all of its message.
  const gone = await begin(server, 'gone', LARGE)
  gone.client.socket.end()
  await untilConnections(server, 1)
  const third = await begin(server, 'third', LARGE)
  await gate.open()
  for (const { reply } of [first, third]) idOf(await reply)
  expect(await subjects()).toEqual(['first', 'third'])
})

test('mail of a client that has gone while it is written is undone', async () => {
  const server = await listen()
  const { client } = await begin(server, 'gone', 'Hello')
  await gate.untilAtGate(1)
  client.close()
  // Postgres itself would end the statement after 20 seconds.
  await gate.untilAtGate(0, { deadline_ms: 15_000 })
  await gate.open()
  const next = await begin(server, 'next', 'Hello')
  idOf(await next.reply)
  expect(await subjects()).toEqual(['next'])
})

test('a client that says QUIT behind its message and ends its side waits for the reply', async () => {
  const server = await listen()
  const first = await begin(server, 'first', LARGE)
  await gate.untilAtGate(1)
  const { client, reply } = await begin(server, 'quits', LARGE, 'QUIT\r\n')
  client.socket.end()
  // Both are behind all of their message, and behind its end.
  const gone = await begin(server, 'gone', LARGE)
  gone.client.socket.end()
  await untilConnections(server, 2)
  await gate.open()
  for (const told of [first.reply, reply]) idOf(await told)
  expect(await client.hear()).toMatch(/^221 /)
  expect(await client.hear()).toBe('')
  expect(await subjects()).toEqual(['first', 'quits'])
  first.client.close()
  await untilConnections(server, 0)
})

test.each([
  { what: 'right behind', quitWithin_ms: 60_000, sent: ['quits'] },
  { what: 'long behind, since it has given up,', quitWithin_ms: 0, sent: [] },
])(
  'a client that says QUIT $what its message and ends its side: $sent is sent',
  async ({ quitWithin_ms, sent }) => {
    const { quitWithin_ms: usual } = lastReplies
    onTestFinished(() => void Object.assign(lastReplies, { quitWithin_ms: usual }))
    Object.assign(lastReplies, { quitWithin_ms })
    const server = await listen()
    const { client } = await begin(server, 'quits', 'Hello')
    await gate.untilAtGate(1)
    client.socket.end('QUIT\r\n')
    // Whoever is given up leaves the gate before it opens.
    if (sent.length === 0) await gate.untilAtGate(0, { deadline_ms: 15_000 })
    await gate.open()
    await untilConnections(server, 0)
    expect(await subjects()).toEqual(sent)
  },
)

test('a client that ends its side behind a QUIT within its message does not stay', async () => {
  const { silence_ms } = listenerRules
  listenerRules.silence_ms = 500
  onTestFinished(() => void Object.assign(listenerRules, { silence_ms }))
  const server = await listen()
  const client = await logIn(server.port, api.key)
  for (const line of ['MAIL FROM:<a@app.test>', 'RCPT TO:<ada@example.test>', 'DATA']) {
    await client.say(line)
  }
  client.socket.end('Subject: half\r\n\r\nQUIT\r\n')
  expect(await client.hear()).toMatch(/^421 /)
  await untilConnections(server, 0)
  await gate.open()
  expect(await subjects()).toEqual([])
})
