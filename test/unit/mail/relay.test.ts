// The relay with a real SMTP server: messages arrive unchanged; connections are reused, limited and renewed.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startFaultServer } from './faultServer.ts'
import { closeAfterTest } from './relayHarness.ts'
import { relay, sendTo, small, startServer } from './smtpServer.ts'

test('a message with dots arrives byte for byte', async () => {
  const server = await startServer()
  const body = ['.', '..', '.a', 'a.', '', '. ', `.${'x'.repeat(900)}`, '', '.'].join('\r\n')
  const message = Buffer.from(`From: a@a.test\r\n\r\n${body}\r\n`)
  const outcome = await sendTo(relay(server.port), 'b@b.test', message)
  expect(outcome).toEqual({ kind: 'delivered', reply: '250 OK: queued' })
  expect(server.received).toEqual([
    {
      from: 'b+1.00@bounces.a.test',
      to: ['b@b.test'],
      bytes: message.toString('latin1'),
      user: undefined,
      secure: false,
    },
  ])
})

test('a large message arrives byte for byte and leaves the event loop free', async () => {
  const server = await startServer()
  const line = `.${'0123456789'.repeat(7)}\r\n`
  const message = Buffer.from(`From: a@a.test\r\n\r\n${line.repeat(100_000)}`)
  let turns = 0
  let sending = true
  const ticking = (async () => {
    for (; sending; turns++) await nextTurn()
  })()
  const outcome = await sendTo(relay(server.port), 'b@b.test', message)
  sending = false
  await ticking
  expect(outcome.kind).toBe('delivered')
  expect(server.received[0]?.bytes === message.toString('latin1')).toBe(true)
  expect(turns).toBeGreaterThan(message.length / (64 * 1024))
})

test('a connection is used for 100 messages, also after a refusal', async () => {
  const server = await startServer({
    onRcptTo({ address }, _session, callback) {
      callback(address.startsWith('no') ? new Error('no such user') : null)
    },
  })
  const transport = relay(server.port, { connections: 1 })
  for (let i = 0; i < 205; i++) {
    const outcome = await sendTo(transport, i % 10 === 0 ? 'no@b.test' : 'b@b.test')
    expect(outcome.kind).toBe(i % 10 === 0 ? 'rejected' : 'delivered')
  }
  expect(server.connections()).toBe(3)
})

test('never more connections than allowed; no message waits forever', async () => {
  const server = await startFaultServer()
  closeAfterTest(server)
  const transport = relay(server.port, { connections: 3 })
  const outcomes = await Promise.all(
    Array.from({ length: 60 }, (_, i) => sendTo(transport, `b${i}@b.test`)),
  )
  expect(outcomes.every((outcome) => outcome.kind === 'delivered')).toBe(true)
  expect(server.seen.openMax).toBe(3)
  expect(server.seen.connections).toBe(3)
  expect(server.seen.messages).toHaveLength(60)
})

test('a server that restarts loses no message: connections are renewed', async () => {
  const first = await startFaultServer()
  const transport = relay(first.port, { connections: 2 })
  await Promise.all([sendTo(transport, 'a@b.test'), sendTo(transport, 'b@b.test')])
  await first.close()
  const second = await startFaultServer(undefined, first.port)
  closeAfterTest(second)
  for (let i = 0; i < 4; i++) expect((await sendTo(transport, 'c@b.test')).kind).toBe('delivered')
  expect(second.seen.messages).toHaveLength(4)
})

test.each(['drop', '421 4.4.2 idle for too long'])(
  'a kept connection on which MAIL meets %s gives way to a new one',
  async (reply) => {
    let mails = 0
    const server = await startFaultServer((step) =>
      step === 'mail' && ++mails === 2 ? reply : undefined,
    )
    closeAfterTest(server)
    const transport = relay(server.port)
    expect((await sendTo(transport, 'a@b.test')).kind).toBe('delivered')
    expect((await sendTo(transport, 'b@b.test')).kind).toBe('delivered')
    expect(server.seen.connections).toBe(2)
    expect(server.seen.messages).toHaveLength(2)
  },
)

test('an unused connection sends QUIT', async () => {
  const server = await startFaultServer()
  closeAfterTest(server)
  const transport = relay(server.port, { timeouts: { idleMs: 20 } })
  await sendTo(transport, 'a@b.test')
  const gone = new Promise((resolve) => server.onDisconnect(resolve))
  await gone
  expect(server.seen.commands.at(-1)).toBe('QUIT')
})

test('close lets messages in progress end, and accepts no more', async () => {
  const server = await startFaultServer()
  closeAfterTest(server)
  const transport = relay(server.port, { connections: 1 })
  let letGo = () => {}
  const reached = new Promise<void>((reach) => {
    void transport
      .send({ from: 'f@a.test', to: 'a@b.test', bytes: small.length }, small, () => {
        reach()
        return new Promise((resolve) => {
          letGo = () => resolve(true)
        })
      })
      .then((outcome) => expect(outcome.kind).toBe('delivered'))
  })
  await reached
  const queued = sendTo(transport, 'b@b.test')
  const closing = transport.close()
  letGo()
  await closing
  expect(await queued).toMatchObject({ kind: 'busy', error: 'the transport is closed' })
  expect(await sendTo(transport, 'c@b.test')).toMatchObject({ kind: 'busy' })
  expect(server.seen.messages).toHaveLength(1)
  expect(server.seen.commands.at(-1)).toBe('QUIT')
})
