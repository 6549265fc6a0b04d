// The trace of an attempt: every server, every line in order, no password, no message.
import { expect, test } from 'vitest'
import { createRelayTransport } from '../../../mail/smtp/relay.ts'
import type { MailTransport, Trace } from '../../../mail/transport.ts'
import { type Script, startFaultServer } from './faultServer.ts'
import { createStage, useNameServer } from './mxHarness.ts'
import { at, closeAfterTest, envelope, message, relayTo } from './relayHarness.ts'
import { relay, startServer } from './smtpServer.ts'

const { dns } = useNameServer()

async function traceOf(transport: MailTransport, to = envelope.to) {
  const trace: Trace = {
    domainExists: null,
    host: null,
    address: null,
    tls: null,
    lines: [],
    phase_ms: {},
  }
  const began = performance.now()
  const outcome = await transport.send({ ...envelope, to }, message, async () => true, trace)
  const took_ms = performance.now() - began
  const said = trace.lines.map(({ from, text }) => (from === 'client' ? `C: ${text}` : text))
  return { outcome, trace, said, took_ms, phases: Object.keys(trace.phase_ms) }
}

const opening = [
  '220 fault.test ESMTP',
  'C: EHLO us.test',
  '250-fault.test',
  '250-PIPELINING',
  '250-SIZE 100000000',
  '250 8BITMIME',
]
const transaction = [
  `C: MAIL FROM:<${envelope.from}> SIZE=${message.length}`,
  `C: RCPT TO:<${envelope.to}>`,
  'C: DATA',
  '250 2.1.0 ok',
  '250 2.1.5 ok',
  '354 go ahead',
  `C: <${message.length} bytes>`,
  'C: .',
  '250-2.0.0 thank you',
  '250 2.0.0 queued as 42',
]

test('a conversation from its first line; on a reused connection from MAIL on', async () => {
  const { server, transport } = await relayTo(() => undefined)
  const first = await traceOf(transport)
  expect(first.said).toEqual([...opening, ...transaction])
  expect(first.trace).toMatchObject({
    host: '127.0.0.1',
    address: `127.0.0.1:${server.port}`,
    tls: null,
  })
  expect(first.phases).toEqual(['connect', 'banner', 'ehlo', 'mail', 'rcpt', 'data', 'body', 'dot'])
  const second = await traceOf(transport)
  expect(second.said).toEqual(transaction)
  expect(second.trace).toMatchObject({ host: '127.0.0.1', address: `127.0.0.1:${server.port}` })
  expect(second.phases).toEqual(['mail', 'rcpt', 'data', 'body', 'dot'])
  for (const { trace, took_ms } of [first, second]) {
    const times = trace.lines.map(({ at_ms }) => at_ms)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    const spent = Object.values(trace.phase_ms).reduce((sum, ms) => sum + ms, 0)
    // No time counts for two phases; each is rounded to a tenth of a ms.
    expect(spent).toBeLessThanOrEqual(took_ms + 1)
  }
})

test('an attempt without a trace sends the same, and a finished trace does not change', async () => {
  const { server, transport } = await relayTo(at('rcpt', '550 5.1.1 no such user'))
  const { said, trace } = await traceOf(transport)
  const length = trace.lines.length
  await transport.send(envelope, message, async () => true)
  expect(said.slice(opening.length)).toEqual([
    ...transaction.slice(0, 4),
    '550 5.1.1 no such user',
    '354 go ahead',
  ])
  expect(trace.lines).toHaveLength(length)
  expect(server.seen.commands.filter((line) => line.startsWith('MAIL'))).toHaveLength(2)
})

test('the wait for a reply is counted in its phase', async () => {
  const { transport } = await relayTo(at('dot', 'hang'), { dotMs: 200 })
  const { trace, outcome } = await traceOf(transport)
  expect(outcome.kind).toBe('ambiguous')
  expect(trace.phase_ms.dot).toBeGreaterThanOrEqual(190)
  expect(trace.phase_ms.rcpt).toBeLessThan(trace.phase_ms.dot ?? 0)
})

test.each([
  ['PLAIN', ['C: AUTH PLAIN ***']],
  ['LOGIN', ['C: AUTH LOGIN', 'C: ***', 'C: ***']],
])('of AUTH %s the trace has no secret', async (method, expected) => {
  const server = await startServer({
    authMethods: [method],
    allowInsecureAuth: true,
    authOptional: false,
    onAuth: ({ username }, _session, callback) => callback(null, { user: username ?? '' }),
  })
  const url = `smtp://someone:pass%20word@127.0.0.1:${server.port}`
  const transport = relay(server.port, { url })
  const { said } = await traceOf(transport)
  const from = said.findIndex((line) => line.startsWith('C: AUTH'))
  expect(said.slice(from).filter((line) => /^C: (AUTH|\*)/.test(line))).toEqual(expected)
  const secrets = ['someone', 'pass word', '\0someone\0pass word']
  for (const secret of secrets) {
    expect(said.join('\n')).not.toContain(secret)
    expect(said.join('\n')).not.toContain(Buffer.from(secret).toString('base64'))
  }
})

test('TLS by its version, and by the name of the server', async () => {
  const server = await startServer()
  const url = `smtp://localhost:${server.port}?tls=required`
  const transport = createRelayTransport({
    url,
    connections: 1,
    ehloName: 'us.test',
    tls: { rejectUnauthorized: false },
  })
  closeAfterTest(transport)
  const { trace, said, phases } = await traceOf(transport)
  expect(trace).toMatchObject({ host: 'localhost', tls: 'TLSv1.3' })
  expect(said).toContain('C: STARTTLS')
  expect(said.filter((line) => line === 'C: EHLO us.test')).toHaveLength(2)
  expect(phases).toContain('tls')
})

test('a second connection, after a reused one was closed, adds its lines', async () => {
  let mails = 0
  const { transport } = await relayTo((step) =>
    step === 'mail' && ++mails === 2 ? '421 4.4.2 idle for too long' : undefined,
  )
  await traceOf(transport)
  const { said, outcome } = await traceOf(transport)
  expect(outcome.kind).toBe('delivered')
  expect(said.slice(0, 4)).toEqual([...transaction.slice(0, 3), '421 4.4.2 idle for too long'])
  expect(said.slice(-opening.length - transaction.length)).toEqual([...opening, ...transaction])
})

test('every host that was tried, the last one by name and address', async () => {
  const stage = await createStage(dns())
  await stage.serve(2, at('banner', '421 4.3.2 full'))
  await stage.serve(3)
  const { trace, said, outcome } = await traceOf(stage.transport, 'b@two.acme.test')
  expect(outcome.kind).toBe('delivered')
  expect(said.slice(0, 2)).toEqual(['421 4.3.2 full', opening[0]])
  expect(trace).toMatchObject({ host: 'h3.acme.test', address: `127.0.0.3:${stage.port}` })
})

test('no server reached: no server, no line', async () => {
  const server = await startFaultServer()
  await server.close()
  const { trace } = await traceOf(relay(server.port))
  expect(trace).toMatchObject({ host: null, address: null, tls: null, lines: [] })
  expect(Object.keys(trace.phase_ms)).toEqual(['connect'])
})

test('an endless or unprintable reply is cut to what can be stored', async () => {
  const many = `${Array.from({ length: 500 }, (_, i) => `250-X${i}`).join('\r\n')}\r\n250 end`
  const script: Script = (step) =>
    step === 'ehlo' ? many : step === 'mail' ? `550 \0${'😀'.repeat(900)}` : undefined
  const { transport } = await relayTo(script)
  const first = await traceOf(transport)
  expect(first.said.slice(2, 22)).toEqual(many.split('\r\n').slice(0, 20))
  expect(first.said[22]).toMatch(/^C: MAIL/)
  const second = await traceOf(transport)
  const refusal = second.said.find((line) => line.startsWith('550')) ?? ''
  expect(refusal).toMatch(/^550 \?/)
  expect(refusal.length).toBeLessThanOrEqual(1_000)
  expect(JSON.stringify(second.trace)).not.toMatch(/\\u(d[89ab]|0000)/)
})
