// The moment before the dot: when beforeDot is called, and the outcome of failures at that moment.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { at, envelope, relayTo, sendOne, short } from './relayHarness.ts'

test('the server has every byte except the dot when beforeDot is called', async () => {
  let got = 0
  const { server, transport } = await relayTo(() => undefined)
  const big = Buffer.from(`Subject: x\r\n\r\n${`${'y'.repeat(70)}\r\n`.repeat(60_000)}`)
  const outcome = await transport.send({ ...envelope, bytes: big.length }, big, async () => {
    // the kernel has all bytes: they arrive without another write
    const deadline = Date.now() + 5000
    while (server.received() < big.length && Date.now() < deadline) {
      await nextTurn()
    }
    got = server.received()
    return server.seen.messages.length === 0
  })
  expect(outcome.kind).toBe('delivered')
  expect(got).toBe(big.length)
})

test('a beforeDot that throws sends nothing', async () => {
  const { server, transport } = await relayTo(() => undefined)
  const { outcome } = await sendOne(transport, () => Promise.reject(new Error('no database')))
  expect(outcome).toEqual({ kind: 'failed', phase: 'body', error: 'no database' })
  expect(server.seen.messages).toEqual([])
})

test('a connection that breaks while beforeDot runs is reported as failed, after beforeDot has ended', async () => {
  const { server, transport } = await relayTo(() => undefined)
  let committed = false
  const { outcome } = await sendOne(transport, async () => {
    const lost = new Promise((resolve) => server.onDisconnect(resolve))
    server.dropAll()
    await lost
    for (let turns = 0; turns < 50; turns++) await nextTurn()
    committed = true
    return true
  })
  expect(committed).toBe(true)
  expect(outcome).toMatchObject({ kind: 'failed', phase: 'body' })
  expect(server.seen.messages).toEqual([])
})

test('a DATA that is answered with 250 is not followed by a dot', async () => {
  const { transport } = await relayTo(at('data', '250 ok'))
  const { outcome, asked } = await sendOne(transport)
  expect(outcome).toMatchObject({ kind: 'failed', phase: 'data' })
  expect(asked).toBe(0)
})

/** More than the kernel buffers for a server that does not read, so beforeDot is not reached. */
const huge = Buffer.alloc(30_000_000, 'Subject: x\r\n')

test.each([
  ['reads no more', '', { kind: 'failed', phase: 'body', error: 'body took longer than 250 ms' }],
  ['drops', 'drop', { kind: 'failed', phase: 'body' }],
  ['refuses', '552 5.3.4 too much', { kind: 'rejected', phase: 'body', code: 552 }],
  ['accepts too early', '250 2.0.0 have it', { kind: 'failed', phase: 'body' }],
])('a server that %s in the middle of the body gets no dot', async (_, reply, expected) => {
  const { server, transport } = await relayTo(at('body', reply), { ...short, bodyMs: 250 })
  server.stopReading()
  let asked = 0
  const outcome = await transport.send({ ...envelope, bytes: huge.length }, huge, async () => {
    asked += 1
    return true
  })
  expect(outcome).toMatchObject(expected)
  expect(asked).toBe(0)
  expect(server.seen.messages).toEqual([])
})

test.each(['this is no reply', '600 what', '\r\n', '250-one\r\n251 two', '250-one\r\n550 two'])(
  '%j while the message is written: no dot follows, and it is safe to send again',
  async (junk) => {
    let isSent = false
    const { server, transport } = await relayTo((step) => {
      if (step !== 'body') return undefined
      isSent = true
      return junk
    })
    const { outcome } = await sendOne(transport, async () => {
      while (!isSent) await nextTurn()
      for (let turns = 0; turns < 50; turns++) await nextTurn()
      return true
    })
    expect(outcome).toMatchObject({ kind: 'failed', phase: 'body' })
    expect(server.seen.messages).toEqual([])
  },
)

test.each([
  ['554-5.7.1 this mail is spam\r\n550 5.7.1 see https://b.test', 'rejected'],
  ['250-ok\r\n251 2.0.0 queued', 'delivered'],
  ['250-ok\r\n550 5.7.1 no', 'ambiguous'],
])('lines with different codes of one class are one reply: %j', async (reply, kind) => {
  const { transport } = await relayTo(at('dot', reply))
  expect((await sendOne(transport)).outcome.kind).toBe(kind)
})
