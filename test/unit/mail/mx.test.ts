// Direct delivery: the right server, the next one if that is allowed, otherwise a safe outcome.
import { expect, test } from 'vitest'
import { createTrace } from '../../../delivery/attemptRow.ts'
import { cachedDns } from '../../../mail/dns/cache.ts'
import { createResolverDoubt } from '../../../mail/dns/doubtedResolver.ts'
import type { Script } from './faultServer.ts'
import { createStage, useNameServer } from './mxHarness.ts'
import { at } from './relayHarness.ts'
import { sendTo, small, startServer } from './smtpServer.ts'

const { dns } = useNameServer()

test.each(['two', 'implicit', 'alias', 'spare', 'loop'])(
  'mail for %s goes to its first host, byte for byte',
  async (domain) => {
    const stage = await createStage(dns())
    const first = await stage.serve(2)
    const second = await stage.serve(3)
    expect(await stage.send(`${domain}.acme.test`)).toMatchObject({ kind: 'delivered' })
    expect(first.seen.messages).toEqual([small.toString('latin1')])
    expect(first.seen.commands).toContain(`RCPT TO:<b@${domain}.acme.test>`)
    expect(second.seen.connections).toBe(0)
  },
)

test.each([
  ['null.acme.test', { kind: 'rejected', phase: 'rcpt', code: 556, enhanced: '5.1.10' }],
  ['nobody.acme.test', { kind: 'rejected', phase: 'connect', code: 512, enhanced: '5.1.2' }],
  ['empty.acme.test', { kind: 'rejected', phase: 'connect', code: 512, enhanced: '5.1.2' }],
  ['self.acme.test', { kind: 'failed', phase: 'connect' }],
  ['only.acme.test', { kind: 'failed', phase: 'connect' }],
  ['lost.acme.test', { kind: 'failed', phase: 'connect' }],
  ['broken.test', { kind: 'failed', phase: 'connect' }],
])('mail for %s goes nowhere', async (domain, outcome) => {
  const stage = await createStage(dns())
  const server = await stage.serve(2)
  expect(await stage.send(domain)).toMatchObject(outcome)
  expect(server.seen.connections).toBe(0)
})

test('a resolver that does not find the return path either is doubted, until it has found a domain', async () => {
  const stage = await createStage(dns(), { believed: createResolverDoubt({ dns: dns() }) })
  await stage.serve(2)
  const look = async (domain: string) => {
    const trace = createTrace()
    const outcome = await stage.send(domain, trace)
    return { outcome, domainExists: trace.domainExists }
  }
  const doubted = { outcome: { code: 451, phase: 'connect' }, domainExists: null }
  expect(await look('nobody.acme.test')).toMatchObject(doubted)
  expect(await look('empty.acme.test')).toMatchObject(doubted)
  expect(await look('one.acme.test')).toMatchObject({ outcome: { kind: 'delivered' } })
  const missing = { outcome: { code: 512, phase: 'connect' }, domainExists: false }
  expect(await look('nobody.acme.test')).toMatchObject(missing)
})

test.each<[string, Script | null]>([
  ['refuses connections', null],
  ['is busy', at('banner', '421 4.3.2 too busy')],
  ['is closed', at('banner', '554 5.3.2 no mail here')],
  ['hangs up', at('banner', 'drop')],
  ['says nothing', at('banner', 'hang')],
  ['speaks something else', at('banner', 'HTTP/1.1 400 Bad Request')],
  ['hangs up after EHLO', at('ehlo', 'drop')],
  ['refuses EHLO', at('ehlo', '450 4.3.2 not now')],
])('the next host when the first one %s', async (_, script) => {
  const stage = await createStage(dns())
  if (script) await stage.serve(2, script)
  const second = await stage.serve(3)
  expect(await stage.send('two.acme.test')).toMatchObject({ kind: 'delivered' })
  expect(second.seen.messages).toHaveLength(1)
})

test('the next address, and the next host if one has none', async () => {
  const stage = await createStage(dns())
  const server = await stage.serve(3)
  for (const domain of ['hosts', 'gone']) {
    expect((await stage.send(`${domain}.acme.test`)).kind).toBe('delivered')
  }
  expect(server.seen.messages).toHaveLength(2)
})

test.each<[string, Script, object]>([
  ['MAIL', at('mail', '451 4.3.0 later'), { kind: 'rejected', phase: 'mail', code: 451 }],
  ['RCPT', at('rcpt', '450 4.2.0 later'), { kind: 'rejected', phase: 'rcpt', code: 450 }],
  ['RCPT, for good', at('rcpt', '550 5.1.1 who?'), { kind: 'rejected', code: 550 }],
  ['DATA', at('data', '421 4.3.0 later'), { kind: 'rejected', phase: 'data', code: 421 }],
  ['the dot', at('dot', '451 4.3.0 later'), { kind: 'rejected', phase: 'dot', code: 451 }],
  ['the dot, without a word', at('dot', 'drop'), { kind: 'ambiguous' }],
])('no other host once the first one has refused %s', async (_, script, outcome) => {
  const stage = await createStage(dns())
  await stage.serve(2, script)
  const second = await stage.serve(3)
  expect(await stage.send('two.acme.test')).toMatchObject(outcome)
  expect(second.seen.connections).toBe(0)
})

test('the reply of a server counts more than the silence of others', async () => {
  const stage = await createStage(dns())
  await stage.serve(2, at('banner', '421 4.7.0 try again in 10 minutes'))
  expect(await stage.send('two.acme.test')).toMatchObject({
    kind: 'rejected',
    phase: 'banner',
    reply: '421 4.7.0 try again in 10 minutes',
  })
})

test('equal hosts share the mail', async () => {
  const draws = [0.1, 0.2, 0.3, 0.9, 0.1, 0.2, 0.9, 0.8, 0.1]
  const stage = await createStage(dns(), {
    random: () => draws.shift() ?? 0,
    timeouts: { idleMs: 0 },
  })
  const servers = await Promise.all([2, 3, 4].map((host) => stage.serve(host)))
  for (let i = 0; i < 3; i++) {
    const gone = Promise.race(
      servers.map((server) => new Promise((resolve) => server.onDisconnect(resolve))),
    )
    expect((await stage.send('equal.acme.test')).kind).toBe('delivered')
    await gone
  }
  // The name server returns equal records in any order; of three random draws the smallest is first.
  const counts = servers.map((server) => server.seen.messages.length)
  expect(counts.reduce((sum, count) => sum + count)).toBe(3)
  expect(Math.max(...counts)).toBeLessThan(3)
})

test('private and loopback addresses are refused unless they are allowed', async () => {
  for (const domain of ['one', 'implicit', 'inward']) {
    const stage = await createStage(dns(), { allowPrivate: false })
    const server = await stage.serve(2)
    expect(await stage.send(`${domain}.acme.test`)).toMatchObject({
      kind: 'failed',
      phase: 'connect',
      error: expect.stringContaining('it is not public'),
    })
    expect(server.seen.connections).toBe(0)
  }
})

test('the time to open one connection is limited', async () => {
  const stage = await createStage(dns(), { timeouts: { bannerMs: 60_000, openMs: 300 } })
  await stage.serve(2, at('banner', 'hang'))
  const second = await stage.serve(3)
  const outcome = await stage.send('two.acme.test')
  expect(outcome).toMatchObject({ kind: 'failed', phase: 'banner' })
  expect(second.seen.connections).toBe(0)
})

test('a silent address is tried last for a while', async () => {
  const stage = await createStage(dns(), { timeouts: { idleMs: 0 } })
  const first = await stage.serve(2, (step, connection) =>
    step === 'banner' && connection === 1 ? 'drop' : undefined,
  )
  const second = await stage.serve(3)
  for (let i = 0; i < 3; i++) {
    const gone = new Promise((resolve) => second.onDisconnect(resolve))
    expect((await stage.send('two.acme.test')).kind).toBe('delivered')
    await gone
  }
  expect(first.seen.connections).toBe(1)
  expect(second.seen.messages).toHaveLength(3)
})

test('from a local address', async () => {
  const peers: string[] = []
  const server = await startServer({
    onConnect(session, callback) {
      peers.push(session.remoteAddress)
      callback()
    },
  })
  const stage = await createStage(dns(), { port: server.port, localAddress: '127.0.0.9' })
  expect((await stage.send('local.acme.test')).kind).toBe('delivered')
  expect(peers).toEqual(['127.0.0.9'])
})

test('close lets messages in progress end, and accepts no more', async () => {
  const stage = await createStage(cachedDns(dns()))
  const server = await stage.serve(2)
  await stage.send('one.acme.test')
  const { sending, letGo } = await stage.sendHeld('also.acme.test')
  const closing = stage.transport.close()
  letGo()
  await closing
  expect(await sending).toMatchObject({ kind: 'delivered' })
  expect(server.seen.commands.at(-1)).toBe('QUIT')
  expect(await sendTo(stage.transport, 'c@one.acme.test')).toMatchObject({ kind: 'busy' })
  expect(server.seen.messages).toHaveLength(2)
})
