// DNS look-ups against a real name server: each kind of answer, and how long it is cached.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cachedDns } from '../../../mail/dns/cache.ts'
import { createDns, type Dns } from '../../../mail/dns/resolver.ts'
import { type NameServer, startBadNameServer, startNameServer } from '../../setup/nameServer.ts'

const FETCH_WAIT_MS = 300_000
const long = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].map((letter) => letter.repeat(250))

let server: NameServer
let dns: Dns

beforeAll(async () => {
  server = await startNameServer({
    'acme.test': `
      @ MX 10 mx1
      @ MX 20 MX2
      mx1 A 192.0.2.1
      mx1 A 192.0.2.2
      mx1 AAAA 2001:db8::1
      alias CNAME target
      target MX 5 mx1
      dangling CNAME nowhere
      null MX 0 .
      key._domainkey TXT "v=DKIM1; " "p=abc"
      long TXT ${long.map((chunk) => `"${chunk}"`).join(' ')}
      two TXT "one"
      two TXT "two"
      xn--bcher-kva MX 1 mx1`,
    'changing.test': '@ MX 1 before',
    'broken.test': null,
  })
  dns = createDns({ servers: [server.address], timeoutMs: 2_000 })
}, FETCH_WAIT_MS)
afterAll(() => server.close())

const acmeMx = [
  { priority: 10, exchange: 'mx1.acme.test' },
  { priority: 20, exchange: 'mx2.acme.test' },
]
const targetMx = [{ priority: 5, exchange: 'mx1.acme.test' }]

test.each([
  ['acme.test', { kind: 'ok', records: acmeMx }],
  ['ACME.test.', { kind: 'ok', records: acmeMx }],
  ['alias.acme.test', { kind: 'ok', records: targetMx }],
  ['null.acme.test', { kind: 'ok', records: [{ priority: 0, exchange: '' }] }],
  ['bücher.acme.test', { kind: 'ok', records: [{ priority: 1, exchange: 'mx1.acme.test' }] }],
  ['mx1.acme.test', { kind: 'nodata' }],
  ['nobody.acme.test', { kind: 'nxdomain' }],
  ['dangling.acme.test', { kind: 'nxdomain' }],
  ['broken.test', { kind: 'servfail', error: 'SERVFAIL' }],
  ['elsewhere.example', { kind: 'servfail', error: 'REFUSED' }],
])('MX of %s', async (name, answer) => {
  const { kind, ...rest } = await dns.mx(name)
  const records = 'records' in rest ? [...rest.records] : []
  records.sort((a, b) => a.priority - b.priority)
  expect({ kind, ...rest, ...('records' in rest ? { records } : {}) }).toEqual(answer)
})

test.each(['', '.', 'a..test', `${'x'.repeat(64)}.test`, `${'x.'.repeat(130)}test`, 'a b.test'])(
  'no name at all: %j',
  async (name) => {
    expect(await dns.mx(name)).toEqual({ kind: 'nxdomain' })
  },
)

test('addresses, texts, aliases', async () => {
  const { records } = { records: [], ...(await dns.a('mx1.acme.test')) }
  expect([...records].sort()).toEqual(['192.0.2.1', '192.0.2.2'])
  expect(await dns.aaaa('mx1.acme.test')).toEqual({ kind: 'ok', records: ['2001:db8::1'] })
  expect(await dns.txt('key._domainkey.acme.test')).toEqual({
    kind: 'ok',
    records: ['v=DKIM1; p=abc'],
  })
  const two = await dns.txt('two.acme.test')
  expect('records' in two ? [...two.records].sort() : two).toEqual(['one', 'two'])
  expect(await dns.cname('alias.acme.test')).toEqual({
    kind: 'ok',
    records: ['target.acme.test'],
  })
  expect(await dns.cname('acme.test')).toEqual({ kind: 'nodata' })
})

test('an answer that does not fit into a datagram is read over TCP', async () => {
  expect(await dns.txt('long.acme.test')).toEqual({ kind: 'ok', records: [long.join('')] })
})

test('the SOA is found by walking up', async () => {
  const soa = {
    zone: 'acme.test',
    nsname: 'ns.acme.test',
    hostmaster: 'hostmaster.acme.test',
    serial: 1,
  }
  expect(await dns.soa('acme.test')).toEqual({ kind: 'ok', records: [soa] })
  expect(await dns.soa('not.there.acme.test')).toEqual({ kind: 'ok', records: [soa] })
  expect(await dns.soa('a.broken.test')).toEqual({ kind: 'servfail', error: 'SERVFAIL' })
})

test.each([
  [1, { kind: 'servfail', error: 'FORMERR' }],
  [2, { kind: 'servfail', error: 'SERVFAIL' }],
  [4, { kind: 'servfail', error: 'NOTIMP' }],
  [5, { kind: 'servfail', error: 'REFUSED' }],
  ['silent', { kind: 'timeout', error: 'TIMEOUT' }],
] as const)('a server that answers %s', async (rcode, answer) => {
  const bad = await startBadNameServer(rcode)
  try {
    const asker = createDns({ servers: [bad.address], timeoutMs: 50, tries: 1 })
    expect(await asker.mx('acme.test')).toEqual(answer)
    expect(bad.asked()).toBeGreaterThan(0)
  } finally {
    await bad.close()
  }
})

test('the second server is asked if the first one is silent', async () => {
  const silent = await startBadNameServer('silent')
  const servers = [silent.address, server.address]
  expect(await createDns({ servers, timeoutMs: 100, tries: 1 }).mx('acme.test')).toMatchObject({
    kind: 'ok',
  })
  await silent.close()
})

test('nobody listens', async () => {
  const asker = createDns({ servers: ['127.0.0.1:1'], timeoutMs: 50, tries: 1 })
  expect(await asker.mx('acme.test')).toMatchObject({ kind: 'timeout' })
})

test('servers must be addresses', () => {
  expect(() => createDns({ servers: ['dns.example'] })).toThrow('Invalid IP address')
})

test('an answer is cached for its time, and concurrent callers share one question', async () => {
  let now = 0
  let asked = 0
  const fresh = createDns({ servers: [server.address], timeoutMs: 2_000, renewMs: 0 })
  const counting: Dns = {
    ...fresh,
    mx(name) {
      asked += 1
      return fresh.mx(name)
    },
  }
  const cached = cachedDns(counting, { now: () => now, entriesMax: 3 })
  const exchange = async () => {
    const answer = await cached.mx('changing.test')
    return answer.kind === 'ok' ? answer.records[0]?.exchange : answer.kind
  }
  expect(await Promise.all([exchange(), exchange()])).toEqual(Array(2).fill('before.changing.test'))
  await server.change('changing.test', '@ MX 1 after')
  now = 59_999
  expect(await exchange()).toBe('before.changing.test')
  expect(asked).toBe(1)
  now = 60_000
  expect(await exchange()).toBe('after.changing.test')

  asked = 0
  for (const wait_ms of [0, 9_999]) {
    now = 100_000 + wait_ms
    await cached.mx('broken.test')
  }
  expect(asked).toBe(1)
  now = 110_000
  await cached.mx('broken.test')
  expect(asked).toBe(2)

  // Two more names: the oldest of four is dropped.
  await cached.mx('one.acme.test')
  await cached.mx('two.acme.test')
  asked = 0
  await cached.mx('changing.test')
  expect(asked).toBe(1)
  await cached.mx('two.acme.test')
  expect(asked).toBe(1)
})
