// The DNS records of a sending domain, checked against a real name server.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkDomain } from '../../../mail/dns/domainChecks.ts'
import { createDns, type Dns } from '../../../mail/dns/resolver.ts'
import { type NameServer, startBadNameServer, startNameServer } from '../../setup/nameServer.ts'

const FETCH_WAIT_MS = 300_000
const sender = {
  host: 'mail.operator.test',
  spf: 'include:spf.operator.test',
  tracking: 't.operator.test',
}
const long = `${'A'.repeat(200)}`
const right = (name: string) => `
  s1._domainkey${name} TXT "v=DKIM1; k=rsa; p=${long}" "${long}"
  s2._domainkey${name} TXT "v=DKIM1; k=ed25519; p=abc"
  bounces${name} MX 10 mail.operator.test.
  bounces${name} TXT "v=spf1 include:spf.operator.test ~all"
  _dmarc${name} TXT "v=DMARC1; p=none;"
  links${name} CNAME t.operator.test.`

/** Records for `bounces` and `s1._domainkey`, one name for each case. */
const cases: Record<string, string> = {
  spaces: `s1._domainkey.spaces TXT "v=DKIM1 ; k=rsa; p= ${long} " " ${long};"`,
  revoked: 's1._domainkey.revoked TXT "v=DKIM1; p="',
  other: 's1._domainkey.other TXT "v=DKIM1; k=rsa; p=BBBB"',
  sha1: `s1._domainkey.sha1 TXT "v=DKIM1; h=sha1; p=${long}" "${long}"`,
  algorithm: `s1._domainkey.algorithm TXT "v=DKIM1; k=ed25519; p=${long}" "${long}"`,
  double: `
    s1._domainkey.double TXT "v=DKIM1; p=${long}" "${long}"
    s1._domainkey.double TXT "v=DKIM1; p=BBBB"
    bounces.double MX 10 mail.operator.test.
    bounces.double MX 20 mail.other.test.
    bounces.double TXT "v=spf1 include:spf.operator.test ~all"
    bounces.double TXT "v=spf1 -all"
    _dmarc.double TXT "v=DMARC1; p=none"
    _dmarc.double TXT "v=DMARC1; p=reject"`,
  nodata: `
    s1._domainkey.nodata A 192.0.2.1
    bounces.nodata A 192.0.2.1`,
  wrong: `
    bounces.wrong MX 10 mail.other.test.
    bounces.wrong TXT "v=spf1 include:spf.other.test ~all"
    _dmarc.wrong TXT "v=DMARC1; p=maybe"
    links.wrong CNAME elsewhere.test.`,
  behind: 'bounces.behind TXT "v=spf1 -all include:spf.operator.test"',
  refuses: 'bounces.refuses TXT "v=spf1 -include:spf.operator.test ~all"',
  mixed: `
    bounces.mixed MX 5 MAIL.Operator.Test.
    bounces.mixed TXT "V=SPF1 a  +Include:SPF.operator.test ip4:192.0.2.0/24 -all"
    bounces.mixed TXT "some-verification=1"`,
}

let server: NameServer
let dns: Dns

beforeAll(async () => {
  const all = Object.values(cases).join('\n')
  server = await startNameServer({
    'acme.test': `${right('')}${right('.news')}\n${all}`,
    'bare.test': '',
    'broken.test': null,
  })
  dns = createDns({ servers: [server.address], timeoutMs: 2_000, renewMs: 0 })
}, FETCH_WAIT_MS)
afterAll(() => server.close())

const check = (name: string, using: Dns = dns) =>
  checkDomain(
    using,
    {
      name,
      keys: [
        { selector: 's1', algorithm: 'rsa', public_key: long + long },
        { selector: 's2', algorithm: 'ed25519', public_key: 'abc' },
      ],
      tracking: { host: `links.${name}`, target: sender.tracking },
    },
    sender,
  )

const every = (state: string) => ({
  mx: state,
  spf: state,
  dmarc: state,
  tracking: state,
  dkim: { s1: state, s2: state },
})

test.each(['acme.test', 'news.acme.test'])('%s has all of them', async (name) => {
  expect(await check(name)).toEqual({
    soa: {
      zone: 'acme.test',
      nsname: 'ns.acme.test',
      hostmaster: 'hostmaster.acme.test',
      serial: 1,
    },
    ...every('SUCCESS'),
  })
})

test.each([
  ['bare.test', every('HOST_NOT_FOUND')],
  ['spaces.acme.test', { dkim: { s1: 'SUCCESS', s2: 'HOST_NOT_FOUND' } }],
  ['revoked.acme.test', { dkim: { s1: 'INVALID_VALUE' } }],
  ['other.acme.test', { dkim: { s1: 'INVALID_VALUE' } }],
  ['sha1.acme.test', { dkim: { s1: 'INVALID_VALUE' } }],
  ['algorithm.acme.test', { dkim: { s1: 'INVALID_VALUE' } }],
  [
    'double.acme.test',
    {
      dkim: { s1: 'INVALID_VALUE' },
      mx: 'INVALID_VALUE',
      spf: 'INVALID_VALUE',
      dmarc: 'INVALID_VALUE',
    },
  ],
  [
    'nodata.acme.test',
    { dkim: { s1: 'TYPE_NOT_FOUND' }, mx: 'TYPE_NOT_FOUND', spf: 'TYPE_NOT_FOUND' },
  ],
  [
    'wrong.acme.test',
    {
      mx: 'INVALID_VALUE',
      spf: 'INVALID_VALUE',
      dmarc: 'INVALID_VALUE',
      tracking: 'INVALID_VALUE',
    },
  ],
  ['behind.acme.test', { spf: 'INVALID_VALUE', mx: 'TYPE_NOT_FOUND' }],
  ['refuses.acme.test', { spf: 'INVALID_VALUE' }],
  // The policy of acme.test applies.
  [
    'mixed.acme.test',
    { spf: 'SUCCESS', mx: 'SUCCESS', dmarc: 'SUCCESS', tracking: 'HOST_NOT_FOUND' },
  ],
  ['broken.test', { soa: null, ...every('DNS_SERVER_ERROR') }],
  ['refused.example', { soa: null, ...every('DNS_SERVER_ERROR') }],
])('%s', async (name, states) => {
  expect(await check(name)).toMatchObject(states)
})

test.each([
  [1, 'DNS_SERVER_ERROR'],
  [2, 'DNS_SERVER_ERROR'],
  ['silent', 'SERVICE_ERROR'],
] as const)('a server that answers %s', async (rcode, state) => {
  const bad = await startBadNameServer(rcode)
  const asking = createDns({ servers: [bad.address], timeoutMs: 100, tries: 1 })
  expect(await check('acme.test', asking)).toEqual({ soa: null, ...every(state) })
  await bad.close()
})
