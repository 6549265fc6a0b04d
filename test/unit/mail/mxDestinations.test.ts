// What is one destination: a provider, or the servers of many domains. It has one limit; a connection goes only where it
// fits.
import { expect, test } from 'vitest'
import { cachedDns } from '../../../mail/dns/cache.ts'
import type { DnsAnswer } from '../../../mail/dns/resolver.ts'
import { createDestinationKeys } from '../../../mail/smtp/destinationKeys.ts'
import { createStage, useNameServer } from './mxHarness.ts'
import { sendTo } from './smtpServer.ts'

const { dns } = useNameServer()

const groupsOf = (stage: Awaited<ReturnType<typeof createStage>>) =>
  stage.transport.destinations().map(({ group }) => group)

test('domains of one provider, each with its own MX name, are one destination', async () => {
  const stage = await createStage(cachedDns(dns()))
  const [shop, bank] = [await stage.serve(2), await stage.serve(3)]
  for (let i = 0; i < 3; i++) {
    for (const domain of ['shop', 'bank']) {
      expect((await stage.send(`${domain}.acme.test`)).kind).toBe('delivered')
    }
  }
  expect(groupsOf(stage)).toEqual(['microsoft'])
  // Each mail has gone to the servers of its own domain, on a connection that is kept.
  const recipients = (server: typeof shop) =>
    server.seen.commands.filter((line) => line.startsWith('RCPT'))
  expect(recipients(shop)).toEqual(Array(3).fill('RCPT TO:<b@shop.acme.test>'))
  expect(recipients(bank)).toEqual(Array(3).fill('RCPT TO:<b@bank.acme.test>'))
  expect([shop.seen.connections, bank.seen.connections]).toEqual([1, 1])
})

test('a domain of a provider whose server has no address stops no other domain there', async () => {
  const stage = await createStage(cachedDns(dns()))
  const shop = await stage.serve(2)
  for (let i = 0; i < 3; i++) {
    expect(await stage.send('dead.acme.test')).toMatchObject({ kind: 'failed', phase: 'connect' })
    expect((await stage.send('shop.acme.test')).kind).toBe('delivered')
  }
  expect(stage.transport.rooms().known.get('microsoft')).toBe(20)
  expect(shop.seen.messages).toHaveLength(3)
})

test('a domain that names servers of a provider beside its own is no domain of the provider', async () => {
  const stage = await createStage(cachedDns(dns()))
  await stage.serve(2)
  await stage.send('beside.acme.test')
  expect(groupsOf(stage)).not.toContain('microsoft')
})

test('the limit of a destination holds for all of its domains together', async () => {
  const stage = await createStage(cachedDns(dns()), { connections: 1 })
  const servers = [await stage.serve(2), await stage.serve(3)]
  let most = 0
  for (let i = 0; i < 4; i++) {
    await Promise.all(['shop', 'bank'].map((domain) => stage.send(`${domain}.acme.test`)))
    most = Math.max(
      most,
      servers.reduce((sum, server) => sum + server.open(), 0),
    )
  }
  expect(most).toBe(1)
  expect(servers.map((server) => server.seen.messages.length)).toEqual([4, 4])
})

test('domains with MX names of their own at the same addresses share connections', async () => {
  const stage = await createStage(cachedDns(dns()))
  const server = await stage.serve(2)
  for (const domain of ['hosted1', 'hosted2', 'one']) await stage.send(`${domain}.acme.test`)
  expect(server.seen.connections).toBe(1)
  expect(groupsOf(stage)).toEqual(['127.0.0.2'])
})

test('a connection to a host that only one domain has takes mail of no other', async () => {
  const stage = await createStage(cachedDns(dns()))
  const [third, fourth] = [await stage.serve(3), await stage.serve(4)]
  for (const domain of ['backed1', 'backed2', 'backed1']) {
    expect((await stage.send(`${domain}.acme.test`)).kind).toBe('delivered')
  }
  expect(groupsOf(stage)).toEqual(['127.0.0.2'])
  expect(third.seen.messages).toHaveLength(2)
  expect(third.seen.connections).toBe(1)
  expect(fourth.seen.messages).toHaveLength(1)
})

test('what was found is told once for each domain', async () => {
  const told: string[][] = []
  const onDestination = (...found: string[]) => told.push(found) > 0
  const stage = await createStage(cachedDns(dns()), { onDestination })
  await stage.serve(2)
  for (const domain of ['shop', 'one', 'one', 'implicit', 'null', 'lost', 'broken']) {
    await stage.send(`${domain}.acme.test`)
  }
  await sendTo(stage.transport, 'c@One.Acme.Test')
  expect(told).toEqual([
    ['shop.acme.test', 'microsoft'],
    ['one.acme.test', '127.0.0.2'],
    ['implicit.acme.test', '127.0.0.2'],
  ])
})

const answer = (...records: string[]): DnsAnswer<string> =>
  records.length > 0 ? { kind: 'ok', records } : { kind: 'nodata' }

function createKeys() {
  let addresses = answer('192.0.2.2', '192.0.2.1')
  const ofHost = new Map<string, DnsAnswer<string>>()
  const clock = { time: 0 }
  const told: string[] = []
  const isFull = { now: false }
  const keys = createDestinationKeys(
    { a: async (host) => ofHost.get(host) ?? addresses, aaaa: async () => answer() },
    (_, key) => {
      if (!isFull.now) told.push(key)
      return !isFull.now
    },
    () => clock.time,
  )
  return {
    clock,
    told,
    isFull,
    ofHost,
    /** The destination of a domain with these hosts, the first of which are preferred. */
    findAll: async (domain: string, preferred: string[], others: string[]) =>
      (await keys.find(domain, { preferred, group: [...preferred, ...others].join(' ') })).key,
    find: async (domain = 'a.test', host = 'mx.a.test') =>
      (await keys.find(domain, { preferred: [host], group: host })).key,
    turn: (next: typeof addresses) => {
      addresses = next
    },
  }
}

test('addresses that rotate are the same destination for an hour', async () => {
  const { find, turn, clock, told } = createKeys()
  expect(await find()).toBe('192.0.2.1 192.0.2.2')
  turn(answer('192.0.2.3'))
  clock.time = 3_599_999
  expect(await find()).toBe('192.0.2.1 192.0.2.2')
  clock.time = 3_600_000
  expect(await find()).toBe('192.0.2.3')
  expect(told).toEqual(['192.0.2.1 192.0.2.2', '192.0.2.3'])
})

test('addresses that two have are kept for neither: one of them could lead the mail of both elsewhere', async () => {
  const { find, ofHost } = createKeys()
  ofHost.set('mx.a.test', answer('192.0.2.1'))
  ofHost.set('mx.b.test', answer('192.0.2.1'))
  expect(await find('b.test', 'mx.b.test')).toBe('192.0.2.1')
  expect(await find('a.test', 'mx.a.test')).toBe('192.0.2.1')
  ofHost.set('mx.b.test', answer('192.0.2.66'))
  expect(await find('b.test', 'mx.b.test')).toBe('192.0.2.66')
  expect(await find('a.test', 'mx.a.test')).toBe('192.0.2.1')
})

test('a domain is of a provider only with all of its hosts', async () => {
  const { findAll, ofHost } = createKeys()
  const first = ['aspmx.l.google.com']
  ofHost.set('aspmx.l.google.com', answer('192.0.2.5'))
  expect(await findAll('pure.test', first, ['alt1.aspmx.l.google.com'])).toBe('google')
  expect(await findAll('mixed.test', first, ['mx.mixed.test'])).toBe('192.0.2.5')
  expect(await findAll('pure.test', first, ['alt1.aspmx.l.google.com'])).toBe('google')
})

test('what was found is told again after a day', async () => {
  const { find, clock, told } = createKeys()
  for (const hours of [0, 1, 23.9, 24, 25, 47.9, 48.1]) {
    clock.time = hours * 3_600_000
    await find()
  }
  expect(told).toEqual(Array(3).fill('192.0.2.1 192.0.2.2'))
})

test('a domain whose hosts change in turn is told once an hour, and found each time', async () => {
  const { findAll, ofHost, clock, told } = createKeys()
  ofHost.set('mx.hostile.test', answer('192.0.2.66'))
  for (let minute = 0; minute < 180; minute++) {
    clock.time = minute * 60_000
    const host = minute % 2 === 0 ? 'aspmx.l.google.com' : 'mx.hostile.test'
    const found = await findAll('hostile.test', [host], [])
    expect(found).toBe(minute % 2 === 0 ? 'google' : '192.0.2.66')
  }
  expect(told).toEqual(['google', '192.0.2.66', 'google'])
})

test('what could not be taken is told again with the next mail', async () => {
  const { find, isFull, told } = createKeys()
  isFull.now = true
  await find()
  isFull.now = false
  await find()
  await find()
  expect(told).toEqual(['192.0.2.1 192.0.2.2'])
})

test('while the DNS fails, what was known stays, and a guess is not told', async () => {
  const { find, turn, clock, told } = createKeys()
  await find()
  turn({ kind: 'servfail', error: 'SERVFAIL' })
  clock.time = 4_000_000
  expect(await find()).toBe('192.0.2.1 192.0.2.2')
  expect(await find('b.test', 'mx.b.test')).toBe('mx.b.test')
  turn(answer('192.0.2.9'))
  expect(await find('b.test', 'mx.b.test')).toBe('192.0.2.9')
  expect(told).toEqual(['192.0.2.1 192.0.2.2', '192.0.2.9'])
})

test('a destination of many addresses has a short name of its own', async () => {
  const { find, turn } = createKeys()
  const addresses = Array.from({ length: 100 }, (_, i) => `192.0.2.${i}`)
  turn(answer(...addresses))
  const key = await find()
  expect(key.length).toBeLessThanOrEqual(200)
  turn(answer(...addresses.slice(0, 99)))
  expect(await find('b.test', 'mx.b.test')).not.toBe(key)
})
