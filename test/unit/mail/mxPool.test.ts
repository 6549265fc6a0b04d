// Destinations of direct delivery: shared connections, limits that follow the server, rests, and opportunistic
// TLS.
import { describe, expect, test } from 'vitest'
import { cachedDns } from '../../../mail/dns/cache.ts'
import { createStage, useNameServer } from './mxHarness.ts'
import { at } from './relayHarness.ts'
import { sendTo, startServer } from './smtpServer.ts'

const { dns } = useNameServer()

const kindsOf = (outcomes: { kind: string }[]) => [...new Set(outcomes.map(({ kind }) => kind))]

test('domains with the same servers share connections', async () => {
  const stage = await createStage(dns())
  const server = await stage.serve(2)
  for (const domain of ['one', 'also', 'alias', 'one']) await stage.send(`${domain}.acme.test`)
  expect(server.seen.messages).toHaveLength(4)
  expect(server.seen.connections).toBe(1)
  expect(stage.state().group).toBe('127.0.0.2')
})

test('hosts are tried in the order of the domain', async () => {
  const stage = await createStage(dns(), { timeouts: { idleMs: 0 } })
  const servers = [await stage.serve(2), await stage.serve(3)]
  for (const domain of ['two', 'turned']) {
    const gone = Promise.race(
      servers.map((server) => new Promise((resolve) => server.onDisconnect(resolve))),
    )
    await stage.send(`${domain}.acme.test`)
    await gone
  }
  expect(servers.map((server) => server.seen.messages.length)).toEqual([1, 1])
  expect(stage.transport.destinations().map(({ group }) => group)).toEqual([
    '127.0.0.2',
    '127.0.0.3',
  ])
})

test('a hundred messages for one connection, ten connections in the end', async () => {
  const stage = await createStage(cachedDns(dns()))
  const server = await stage.serve(2)
  for (let i = 0; i < 101; i++) await stage.send('one.acme.test')
  expect(server.seen.connections).toBe(2)
  for (let wave = 0; wave < 5; wave++) {
    expect(kindsOf(await stage.sendMany(20))).toEqual(['delivered'])
  }
  expect(stage.state().limit).toBe(10)
  expect(server.seen.openMax).toBeLessThanOrEqual(11)
})

test('never more connections than allowed', async () => {
  const stage = await createStage(cachedDns(dns()), { connections: 3 })
  const server = await stage.serve(2)
  for (let wave = 0; wave < 4; wave++) {
    expect(kindsOf(await stage.sendMany(12))).toEqual(['delivered'])
  }
  expect(server.seen.connections).toBe(3)
})

test('a server that takes two connections gets its mail over two', async () => {
  const stage = await createStage(cachedDns(dns()))
  const server = await stage.serve(2, (step) =>
    step === 'banner' && server.open() > 2 ? '421 4.7.0 too many connections' : undefined,
  )
  await stage.send('one.acme.test')
  for (let wave = 0; wave < 4; wave++) {
    expect(kindsOf(await stage.sendMany(4))).toEqual(['delivered'])
  }
  expect(stage.state().limit).toBeLessThanOrEqual(2)
  expect(server.seen.connections).toBeLessThanOrEqual(6)
})

test('deferrals halve the connections, and at last make it rest', async () => {
  let now = 1_000_000
  const stage = await createStage(cachedDns(dns()), { now: () => now })
  const server = await stage.serve(2, at('mail', '451 4.7.1 slow down'))
  const limits: number[] = []
  for (let i = 0; i < 15; i++) {
    now += 1_000
    expect((await stage.send('one.acme.test')).kind).toBe('rejected')
    limits.push(stage.state().limit)
  }
  expect([...new Set(limits)]).toEqual([5, 2, 1])
  const seen = server.seen.commands.length
  expect(await stage.send('one.acme.test')).toEqual({
    kind: 'busy',
    error: 'not tried now, since the destination fails: mail: 451 4.7.1 slow down',
    retryAfter_ms: 30_000,
  })
  expect(server.seen.commands).toHaveLength(seen)
})

test('a dead destination fails fast, and is tried again after its rest', async () => {
  let now = 1_000_000
  const stage = await createStage(cachedDns(dns()), { now: () => now })
  const refused = { kind: 'failed', phase: 'connect', error: expect.stringContaining('REFUSED') }
  expect(await stage.send('one.acme.test')).toMatchObject(refused)
  const server = await stage.serve(2)
  now += 29_999
  const untried = await Promise.all([stage.send('one.acme.test'), stage.send('also.acme.test')])
  const error = expect.stringMatching(/^not tried now.*REFUSED/)
  expect(untried).toEqual(Array(2).fill({ kind: 'busy', error, retryAfter_ms: 1 }))
  expect(server.seen.connections).toBe(0)
  now += 1
  expect((await stage.send('one.acme.test')).kind).toBe('delivered')
  expect((await stage.send('one.acme.test')).kind).toBe('delivered')
})

test('after a rest one message goes ahead; the others do not wait for it', async () => {
  let now = 1_000_000
  const stage = await createStage(cachedDns(dns()), { now: () => now })
  await stage.send('one.acme.test')
  const server = await stage.serve(2, at('banner', 'hang'))
  now += 30_000
  const probe = stage.send('one.acme.test')
  const others = await Promise.all(Array.from({ length: 5 }, () => stage.send('one.acme.test')))
  for (const other of others) expect(other).toMatchObject({ kind: 'busy', retryAfter_ms: 5_000 })
  expect(await probe).toMatchObject({ kind: 'failed', phase: 'banner' })
  expect(server.seen.connections).toBe(1)
})

test('a destination at rest does not hold up another', async () => {
  const stage = await createStage(cachedDns(dns()))
  await stage.send('one.acme.test')
  await stage.serve(3)
  expect((await stage.send('literal.acme.test')).kind).toBe('delivered')
})

test('the wait for a connection is limited', async () => {
  const stage = await createStage(cachedDns(dns()), { connections: 1, timeouts: { waitMs: 50 } })
  const server = await stage.serve(2)
  const { sending, letGo } = await stage.sendHeld('one.acme.test')
  expect(await stage.send('one.acme.test')).toMatchObject({
    kind: 'busy',
    error: 'no connection was free within 50 ms',
    retryAfter_ms: 1_000,
  })
  letGo()
  expect((await sending).kind).toBe('delivered')
  expect(server.seen.messages).toHaveLength(1)
})

test('messages that wait behind a failing connection are not tried and come back at once', async () => {
  const stage = await createStage(cachedDns(dns()))
  const server = await stage.serve(2, at('banner', 'hang'))
  const outcomes = await stage.sendMany(100)
  const kinds = outcomes.map(({ kind }) => kind)
  // One connection was tried, nineteen messages waited for it, the rest came back at once.
  expect(kinds.filter((kind) => kind === 'failed')).toHaveLength(1)
  expect(kinds.filter((kind) => kind === 'busy')).toHaveLength(99)
  expect(server.seen.connections).toBe(1)
  const reasons = outcomes.map((outcome) => ('error' in outcome ? outcome.error : ''))
  expect(reasons.filter((reason) => reason.startsWith('too many wait'))).toHaveLength(80)
  expect(reasons.filter((reason) => reason.startsWith('not tried now'))).toHaveLength(19)
})

test('messages that come back after a rest are spread over ten seconds', async () => {
  let draw = 0
  const stage = await createStage(cachedDns(dns()), { now: () => 1_000_000, random: () => draw })
  await stage.send('one.acme.test')
  draw = 0.5
  expect(await stage.send('one.acme.test')).toMatchObject({ retryAfter_ms: 35_000 })
})

test('unused destinations are dropped', async () => {
  let now = 1_000_000
  const stage = await createStage(dns(), { now: () => now })
  await stage.send('one.acme.test')
  now += 16 * 60_000
  await stage.send('local.acme.test')
  expect(stage.state().group).toBe('127.0.0.1')
})

test('of very many destinations those that were unused for a minute are dropped', async () => {
  let now = 1_000_000
  const nowhere = async () => ({ kind: 'nodata' }) as const
  const a = async (host: string) => ({ kind: 'ok' as const, records: [host.slice(0, -5)] })
  const stage = await createStage({ ...dns(), mx: nowhere, a, aaaa: nowhere }, { now: () => now })
  for (let third = 0; third < 21; third++) {
    const domains = Array.from({ length: 100 }, (_, i) => `127.1.${third}.${i + 1}.test`)
    await Promise.all(domains.map((domain) => stage.send(domain)))
  }
  expect(stage.transport.destinations()).toHaveLength(2_100)
  now += 61_000
  await stage.send('127.1.30.1.test')
  expect(stage.state().group).toBe('127.1.30.1')
})

describe('opportunistic TLS', () => {
  const stageAt = (port: number) => createStage(cachedDns(dns()), { port, tls: {} })

  test('with any certificate and an old protocol', async () => {
    for (const version of ['TLSv1.3', 'TLSv1.1'] as const) {
      const ciphers = 'DEFAULT@SECLEVEL=0'
      const server = await startServer({ minVersion: version, maxVersion: version, ciphers })
      const stage = await stageAt(server.port)
      expect((await stage.send('local.acme.test')).kind).toBe('delivered')
      expect(server.received).toMatchObject([{ secure: true }])
    }
  })

  const failing = { ciphers: 'AECDH-AES128-SHA@SECLEVEL=0', maxVersion: 'TLSv1.2' } as const

  test('without TLS after a failed handshake, and from then on at once', async () => {
    const server = await startServer(failing)
    const stage = await stageAt(server.port)
    for (let i = 0; i < 101; i++) {
      expect((await stage.send('local.acme.test')).kind).toBe('delivered')
    }
    expect(server.received.every(({ secure }) => !secure)).toBe(true)
    // One connection whose TLS failed, one for a hundred messages, one for the last.
    expect(server.connections()).toBe(3)
  })

  test.each(['drop', '220 go ahead\r\n250 injected'])(
    'in the clear when STARTTLS is answered with %j',
    async (reply) => {
      const stage = await createStage(dns())
      const server = await stage.serve(2, (step) =>
        step === 'ehlo' ? '250-x\r\n250 STARTTLS' : step === 'starttls' ? reply : undefined,
      )
      expect((await stage.send('one.acme.test')).kind).toBe('delivered')
      expect(server.seen.connections).toBe(2)
    },
  )

  test('a server that requires TLS, which fails, gets the message later', async () => {
    const server = await startServer({
      ...failing,
      onMailFrom(_address, session, callback) {
        const refusal = Object.assign(new Error('5.7.0 STARTTLS first'), { responseCode: 530 })
        callback(session.secure ? null : refusal)
      },
    })
    const stage = await stageAt(server.port)
    expect(await stage.send('local.acme.test')).toMatchObject({ kind: 'failed', phase: 'tls' })
    expect(await sendTo(stage.transport, 'c@local.acme.test')).toMatchObject({ phase: 'tls' })
  })
})
