// The pace of a relay: what it asks for costs no attempt, and it rests while it cannot be reached.
import { expect, onTestFinished, test, vi } from 'vitest'
import { createRelayTransport } from '../../../mail/smtp/relay.ts'
import type { Config } from '../../../runtime/config.ts'
import { createTransport } from '../../../worker/createTransport.ts'
import { type Script, startFaultServer } from './faultServer.ts'
import { at, closeAfterTest, message, sendOne } from './relayHarness.ts'
import { sendTo } from './smtpServer.ts'

async function pacedRelay(script: Script, connections = 1, port = 0) {
  const clock = { time: 1_000_000 }
  const server = await startFaultServer(script, port)
  const transport = createRelayTransport({
    url: `smtp://127.0.0.1:${server.port}`,
    connections,
    ehloName: 'us.test',
    random: () => 0,
    now: () => clock.time,
  })
  closeAfterTest(server, transport)
  return { clock, server, transport, send: async () => (await sendOne(transport)).outcome }
}

test.each([
  ['banner', '421 4.7.0 too many connections from 192.0.2.1'],
  ['ehlo', '421 4.3.2 Connection rate limit exceeded'],
  ['mail', '421 4.7.0 too many connections'],
  ['mail', '454 4.7.0 Throttling failure'],
  ['rcpt', '451 4.7.1 rate limit exceeded'],
  ['data', '454 Throttling failure: Maximum sending rate exceeded.'],
  ['dot', '454 Throttling failure: Maximum sending rate exceeded.'],
] as const)('%s answered with %s: not tried', async (step, reply) => {
  const { send } = await pacedRelay(at(step, reply), 10)
  expect(await send()).toEqual({
    kind: 'busy',
    error: expect.stringContaining(reply),
    retryAfter_ms: 1_000,
  })
})

test('a wait that the relay states is kept', async () => {
  const { send } = await pacedRelay(at('mail', '421 4.7.0 too many messages, retry in 20 seconds'))
  expect(await send()).toMatchObject({ kind: 'busy', retryAfter_ms: 20_000 })
})

test('a quota of the day is a refusal like any other', async () => {
  const reply = '454 Throttling failure: Daily message quota exceeded.'
  const { send } = await pacedRelay(at('mail', reply))
  expect(await send()).toMatchObject({ kind: 'rejected', reply })
})

test('a relay that takes two connections gets its mail over two, and no attempt is lost', async () => {
  const { server, transport } = await pacedRelay(
    (step) =>
      step === 'banner' && server.open() > 2 ? '421 4.7.0 too many connections' : undefined,
    10,
  )
  await sendTo(transport, 'a@b.test')
  const outcomes = await Promise.all(
    Array.from({ length: 60 }, (_, i) => sendTo(transport, `b${i}@b.test`)),
  )
  expect(outcomes.filter(({ kind }) => kind !== 'delivered')).toEqual([])
  expect(transport.rooms().other).toBeLessThanOrEqual(20)
  expect(server.seen.connections).toBeLessThanOrEqual(11)
})

test('throttling halves the connections; on the last one it makes the relay rest', async () => {
  const { clock, server, transport, send } = await pacedRelay(
    at('dot', '454 4.7.0 Throttling failure'),
    4,
  )
  const rooms: number[] = [transport.rooms().other]
  for (let i = 0; i < 3; i++) {
    clock.time += 3_000
    expect((await send()).kind).toBe('busy')
    rooms.push(transport.rooms().other)
  }
  expect(rooms).toEqual([40, 20, 10, 0])
  const seen = server.seen.commands.length
  expect(await send()).toMatchObject({ kind: 'busy', error: expect.stringMatching(/^not tried/) })
  expect(server.seen.commands).toHaveLength(seen)
  clock.time += 1_000
  await expect.poll(() => transport.rooms().other).toBe(1)
})

test('what waits in the line of a relay that begins to rest is given back', async () => {
  const { transport, server } = await pacedRelay(at('dot', '454 4.7.0 Throttling failure'))
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, i) => sendTo(transport, `b${i}@b.test`)),
  )
  expect(outcomes.every(({ kind }) => kind === 'busy')).toBe(true)
  // The second one's commands went with the dot of the first.
  expect(server.seen.messages.length).toBeLessThanOrEqual(2)
})

test('a relay that is away: the first messages fail, the others wait, and it is soon tried again', async () => {
  const { clock, server, transport, send } = await pacedRelay(() => undefined)
  await server.close()
  const refused = { kind: 'failed', phase: 'connect' }
  expect(await send()).toMatchObject(refused)
  expect(await send()).toMatchObject(refused)
  const error = expect.stringMatching(/^not tried now.*REFUSED/)
  expect(await send()).toEqual({ kind: 'busy', error, retryAfter_ms: 1_000 })
  expect(transport.rooms()).toEqual({ known: new Map(), other: 0 })
  for (const rest of [2_000, 5_000, 10_000, 20_000, 30_000, 30_000]) {
    clock.time += 30_000
    expect(await send()).toMatchObject(refused)
    expect(await send()).toMatchObject({ kind: 'busy', retryAfter_ms: rest })
  }
  const back = await startFaultServer(undefined, server.port)
  closeAfterTest(back)
  clock.time += 30_000
  expect((await send()).kind).toBe('delivered')
  expect((await send()).kind).toBe('delivered')
  expect(transport.rooms().other).toBe(10)
})

test('refusals of one sender never make the relay rest', async () => {
  const { transport, send } = await pacedRelay(at('mail', '451 4.7.1 sender rejected for now'), 4)
  for (let i = 0; i < 50; i++) expect((await send()).kind).toBe('rejected')
  expect(transport.rooms().other).toBeGreaterThan(0)
})

test('mail waits for the relay by class', async () => {
  const { server, transport } = await pacedRelay(() => undefined)
  let letGo = () => {}
  const reached = new Promise<void>((reach) => {
    const envelope = { from: 'f@a.test', to: 'first@b.test', bytes: message.length }
    void transport.send(envelope, message, () => {
      reach()
      return new Promise((resolve) => {
        letGo = () => resolve(true)
      })
    })
  })
  await reached
  const send = (name: string, mailClass: 'broadcast' | 'transactional') =>
    transport.send(
      { from: 'f@a.test', to: `${name}@b.test`, bytes: message.length, class: mailClass },
      message,
      async () => true,
    )
  const sent = Array.from({ length: 5 }, (_, i) => send(`broadcast${i}`, 'broadcast'))
  sent.push(send('receipt', 'transactional'))
  letGo()
  await Promise.all(sent)
  const order = server.seen.commands.filter((line) => line.startsWith('RCPT'))
  expect(order[1]).toContain('<receipt@')
})

test('a rest lasts as long as it should where the clock of the machine is set back meanwhile', async () => {
  const machine = { now: Date.now() }
  vi.spyOn(Date, 'now').mockImplementation(() => machine.now)
  onTestFinished(() => void vi.restoreAllMocks())
  const { port, close } = await startFaultServer()
  await close()
  const config = {
    deliveryMode: 'relay',
    smtpUrl: `smtp://127.0.0.1:${port}`,
    smtpConnections: 1,
    ehloName: 'us.test',
  }
  const transport = createTransport(config as Config)
  closeAfterTest(transport)
  await sendTo(transport, 'a@b.test')
  await sendTo(transport, 'a@b.test')
  expect(transport.rooms().other, 'it rests').toBe(0)
  machine.now -= 3_600_000
  closeAfterTest(await startFaultServer(undefined, port))
  await vi.waitFor(() => expect(transport.rooms().other).toBe(1), { timeout: 20_000 })
  expect((await sendTo(transport, 'a@b.test')).kind).toBe('delivered')
})
