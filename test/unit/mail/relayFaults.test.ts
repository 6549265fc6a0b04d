// The relay against servers that refuse, close the connection or are silent: every outcome is safe.
import { describe, expect, test } from 'vitest'
import { createRelayTransport } from '../../../mail/smtp/relay.ts'
import { GONE, type Script, startFaultServer } from './faultServer.ts'
import { at, closeAfterTest, envelope, message, relayTo, sendOne, short } from './relayHarness.ts'

const noPipelining: Script = (step) => (step === 'ehlo' ? '250 fault.test' : undefined)

describe.each(['pipelined', 'one by one'])('%s', (mode) => {
  const base: Script = mode === 'pipelined' ? () => undefined : noPipelining
  const with_ =
    (script: Script): Script =>
    (step, connection) =>
      script(step, connection) ?? base(step, connection)

  test.each([
    ['banner', 'banner', '554 5.3.2 no service', '5.3.2'],
    ['banner', 'banner', '421 too busy', null],
    ['mail', 'mail', '451-4.3.0 first line\r\n451 4.3.0 try again', '4.3.0'],
    ['mail', 'mail', '550 5.1.8 sender refused', '5.1.8'],
    ['rcpt', 'rcpt', '450 4.2.0 greylisted', '4.2.0'],
    ['rcpt', 'rcpt', '550 5.1.1 no such user', '5.1.1'],
    ['rcpt', 'rcpt', '421 4.3.2 shutting down', '4.3.2'],
    ['data', 'data', '451 not now', null],
    ['data', 'data', '554 5.5.1 no valid recipients', '5.5.1'],
    ['dot', 'dot', '451 4.7.1 greylisted', '4.7.1'],
    ['dot', 'dot', '554 5.7.1 spam', '5.7.1'],
  ] as const)('%s refused: rejected at %s by %s', async (step, phase, reply, enhanced) => {
    const { server, transport } = await relayTo(with_(at(step, reply)))
    const { outcome, asked } = await sendOne(transport)
    expect(outcome).toEqual({
      kind: 'rejected',
      phase,
      code: Number(reply.slice(0, 3)),
      enhanced,
      reply: reply.replaceAll('\r\n', '\n'),
    })
    expect(asked).toBe(step === 'dot' ? 1 : 0)
    // a pipelined DATA that was accepted without a recipient: the message is sent to nobody
    if (step !== 'dot') expect(server.seen.messages.join('')).not.toContain('Hello')
  })

  test.each([
    ['ehlo', '550 5.7.1 your address is blocked', '5.7.1'],
    ['mail', '550 5.7.1 your address is blocked', '5.7.1'],
    ['rcpt', '550 5.1.1 no such user', '5.1.1'],
    ['rcpt', '450 4.7.1 greylisted', '4.7.1'],
    ['data', '554 5.5.1 no valid recipients', '5.5.1'],
  ] as const)(
    '%s refused by %s, and no answer to what follows: the refusal counts',
    async (step, reply, enhanced) => {
      const { transport } = await relayTo(with_(at(step, `${reply}${GONE}`)))
      const { outcome } = await sendOne(transport)
      const code = Number(reply.slice(0, 3))
      expect(outcome).toEqual({ kind: 'rejected', phase: step, code, enhanced, reply })
    },
  )

  test.each([
    ['banner', 'banner'],
    ['ehlo', 'ehlo'],
    ['mail', 'mail'],
    ['rcpt', 'rcpt'],
    ['data', 'data'],
  ] as const)('dropped at %s: failed, safe to retry', async (step, phase) => {
    const { server, transport } = await relayTo(with_(at(step, 'drop')))
    const { outcome, asked } = await sendOne(transport)
    expect(asked).toBe(0)
    expect(outcome).toMatchObject({ kind: 'failed' })
    if (mode === 'one by one') expect(outcome).toMatchObject({ phase })
    expect(server.seen.messages).toEqual([])
  })

  test.each([
    ['banner', 'banner'],
    ['ehlo', 'ehlo'],
    ['mail', 'mail'],
    ['rcpt', 'rcpt'],
    ['data', 'data'],
  ] as const)('silent at %s: failed by the timeout of %s', async (step, phase) => {
    const { server, transport } = await relayTo(with_(at(step, 'hang')), short)
    const { outcome, asked } = await sendOne(transport)
    expect(outcome).toEqual({
      kind: 'failed',
      phase,
      error: `${phase} took longer than 250 ms`,
    })
    expect(asked).toBe(0)
    expect(server.seen.messages).toEqual([])
  })

  test('dropped after the dot: ambiguous', async () => {
    const { server, transport } = await relayTo(with_(at('dot', 'drop')))
    const { outcome, asked } = await sendOne(transport)
    expect(outcome).toMatchObject({ kind: 'ambiguous' })
    expect(asked).toBe(1)
    expect(server.seen.messages).toEqual([message.toString()])
  })

  test('silent after the dot: ambiguous', async () => {
    const { transport } = await relayTo(with_(at('dot', 'hang')), short)
    const { outcome } = await sendOne(transport)
    expect(outcome).toEqual({ kind: 'ambiguous', error: 'dot took longer than 250 ms' })
  })

  test('a lost lease sends no dot', async () => {
    const { server, transport } = await relayTo(with_(() => undefined))
    const { outcome, asked } = await sendOne(transport, async () => false)
    expect(outcome).toEqual({ kind: 'lost_lease' })
    expect(asked).toBe(1)
    expect((await sendOne(transport)).outcome.kind).toBe('delivered')
    expect(server.seen.messages).toHaveLength(1)
    expect(server.seen.unfinished).toEqual([message.toString()])
    expect(server.seen.connections).toBe(2)
  })
})

test('nobody listens: failed at connect', async () => {
  const server = await startFaultServer()
  await server.close()
  const transport = createRelayTransport({
    url: `smtp://127.0.0.1:${server.port}`,
    connections: 1,
    ehloName: 'us.test',
  })
  closeAfterTest(transport)
  expect((await sendOne(transport)).outcome).toMatchObject({ kind: 'failed', phase: 'connect' })
})

test('TLS required and not offered: nothing is sent without encryption', async () => {
  const { server, transport } = await relayTo(() => undefined, {}, '?tls=required')
  const { outcome } = await sendOne(transport)
  expect(outcome).toMatchObject({
    kind: 'failed',
    phase: 'tls',
    error: expect.stringContaining('STARTTLS'),
  })
  expect(server.seen.commands.some((line) => line.startsWith('MAIL'))).toBe(false)
})

test.each([
  ['a>b@b.test', '5.1.3'],
  ['b@b.test\r\nRCPT TO:<c@c.test>', '5.1.3'],
  ['', '5.1.3'],
  ['bücher@b.test', '5.6.7'],
])('the recipient %j is refused before anything is said', async (to, enhanced) => {
  const { server, transport } = await relayTo(() => undefined)
  const outcome = await transport.send({ ...envelope, to }, message, async () => true)
  expect(outcome).toMatchObject({ kind: 'rejected', enhanced })
  expect(server.seen.commands.some((line) => line.startsWith('MAIL'))).toBe(false)
})

test('a message over SIZE is refused early, and the connection stays', async () => {
  const { server, transport } = await relayTo(at('ehlo', '250-x\r\n250 SIZE 10'))
  const { outcome } = await sendOne(transport)
  expect(outcome).toMatchObject({ kind: 'rejected', phase: 'mail', code: 552, enhanced: '5.3.4' })
  expect(server.seen.commands).not.toContain('DATA')
})

test('control characters are replaced and endless replies are cut', async () => {
  const nul = await relayTo(at('rcpt', '550 5.1.1 no\u0000such\u001b user'))
  expect((await sendOne(nul.transport)).outcome).toMatchObject({
    reply: '550 5.1.1 no?such? user',
  })
  const long = await relayTo(at('rcpt', `550-${'x'.repeat(100_000)}\r\n550 5.1.1 end`))
  expect((await sendOne(long.transport)).outcome).toMatchObject({ kind: 'failed', phase: 'rcpt' })
})
