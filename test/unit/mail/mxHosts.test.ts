// The mail servers of a domain, their order, and the addresses that mail may go to.
import { expect, test } from 'vitest'
import {
  findHostAddresses,
  findMxHosts,
  isUnknownDomain,
  nullMxRejection,
  unknownDomainRejection,
} from '../../../mail/dns/mxHosts.ts'
import { isPublicAddress } from '../../../mail/dns/publicAddresses.ts'
import { classifyReply } from '../../../rules/mail/bounceRules.ts'
import { nextAttempt } from '../../../rules/mail/retry.ts'
import { answersOf } from '../rules/answers.ts'
import { useNameServer } from './mxHarness.ts'

const { dns } = useNameServer()

const find = (domain: string, random = () => 0) =>
  findMxHosts(dns(), domain, { ownNames: ['us.acme.test'], random })
const named = (...hosts: string[]) => hosts.map((host) => `${host}.acme.test`)
const hosts = (...names: string[]) => ({
  kind: 'hosts',
  names: named(...names),
  preferred: named(...names.slice(0, 1)),
  group: named(...names)
    .sort()
    .join(' '),
})

test.each([
  ['one.acme.test', hosts('h2')],
  ['two.acme.test', hosts('h2', 'h3')],
  ['turned.acme.test', hosts('h3', 'h2')],
  ['implicit.acme.test', hosts('implicit')],
  ['alias.acme.test', hosts('h2')],
  ['spare.acme.test', hosts('h2')],
  ['loop.acme.test', hosts('h2')],
  ['literal.acme.test', hosts('h3')],
  ['null.acme.test', { kind: 'null_mx' }],
  ['nobody.acme.test', { kind: 'unknown_domain', error: 'NXDOMAIN' }],
  ['empty.acme.test', { kind: 'no_server', error: 'neither MX nor address' }],
  ['self.acme.test', { kind: 'no_host', error: 'its MX is this server' }],
  ['only.acme.test', { kind: 'no_host', error: 'its MX names no host' }],
  ['broken.test', { kind: 'unanswered', error: 'SERVFAIL' }],
  ['elsewhere.example', { kind: 'unanswered', error: 'REFUSED' }],
])('%s', async (domain, expected) => {
  expect(await find(domain)).toEqual(expected)
})

test('equally preferred hosts share mail, and come after more preferred ones', async () => {
  const seen = new Set<string>()
  let seed = 1
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647
    return seed / 2_147_483_647
  }
  for (let i = 0; i < 40; i++) {
    const found = await find('mixed.acme.test', random)
    if (found.kind !== 'hosts') throw new Error(found.kind)
    expect(found.names.slice(2)).toEqual(named('h4', 'h5'))
    expect(found.preferred).toEqual(named('h2', 'h3'))
    expect(found.group).toBe(named('h2', 'h3', 'h4', 'h5').join(' '))
    seen.add(found.names[0] ?? '')
  }
  expect([...seen].sort()).toEqual(named('h2', 'h3'))
})

test('addresses of a host', async () => {
  const all = { allowPrivate: true, family: 0 } as const
  const find_ = (host: string, policy: Parameters<typeof findHostAddresses>[2]) =>
    findHostAddresses(dns(), host, policy)
  const inner = 'inner.acme.test'
  expect(await find_(inner, all)).toEqual({ addresses: ['10.0.0.1', 'fd00::1'], error: '' })
  expect((await find_(inner, { ...all, family: 6 })).addresses).toEqual(['fd00::1'])
  expect((await find_(inner, { ...all, family: 4 })).addresses).toEqual(['10.0.0.1'])
  expect(await find_(inner, { ...all, allowPrivate: false })).toEqual({
    addresses: [],
    error: 'it is not public',
  })
  expect(await find_('h2.acme.test', { ...all, family: 6 })).toEqual({
    addresses: [],
    error: 'it has no IPv6 address',
  })
  expect((await find_('nowhere.acme.test', all)).error).toBe('it has no address')
  expect((await find_('x.broken.test', all)).error).toBe('SERVFAIL')
})

test.each([
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '2a00:1450::1',
  '2607:f8b0:4023::1b',
  '64:ff9b::8.8.8.8',
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

test.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '198.19.0.1',
  '203.0.113.9',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:8.8.8.8',
  '::ffff:10.0.0.1',
  '::8.8.8.8',
  '64:ff9b::10.0.0.1',
  '64:ff9b:1::1',
  '2001::1',
  '2001:db8::1',
  '2002:a00:1::',
  'fc00::1',
  'fd12::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  'mail.acme.test',
  '',
])('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test('a null MX ends the mail and suppresses the address', () => {
  const refusal = nullMxRejection()
  expect(refusal).toMatchObject({ code: 556, enhanced: '5.1.10' })
  expect(answersOf(classifyReply(refusal))).toBe('Permanent/General final recipient')
})

test('an unknown domain is not final: it is looked up again after 30 minutes', () => {
  const refusal = unknownDomainRejection('NXDOMAIN')
  expect(refusal).toMatchObject({ code: 512, enhanced: '5.1.2' })
  expect(answersOf(classifyReply(refusal))).toBe('Permanent/General again unknown')
  expect(isUnknownDomain(refusal.reply)).toBe(true)
  expect(isUnknownDomain('512 5.1.2 said by a server')).toBe(false)
  expect(isUnknownDomain(null)).toBe(false)
  const next = nextAttempt({
    attempt: 1,
    now: 0,
    expiresAt: 86_400_000,
    reply: refusal.reply,
    random: 0,
  })
  expect(next).toEqual({ kind: 'retry', at: 30 * 60_000 })
})
