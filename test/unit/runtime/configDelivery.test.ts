// The variables of delivery: relay or direct delivery, and name servers.
import { expect, test } from 'vitest'
import { parseConfig } from '../../../runtime/config.ts'

const base = {
  DATABASE_URL: 'postgres://127.0.0.1/dripline',
  SECRET_KEY: Buffer.alloc(32).toString('base64'),
}

test('a relay needs its URL, direct delivery does not', () => {
  expect(() => parseConfig(base)).toThrow('SMTP_URL: is missing')
  expect(() => parseConfig({ ...base, SMTP_URL: '', PORT: 'x' })).toThrow(/PORT.*\n.*SMTP_URL/)
  expect(parseConfig({ ...base, SMTP_URL: 'smtp://127.0.0.1' })).toMatchObject({
    deliveryMode: 'relay',
    smtpConnections: 20,
  })
  expect(parseConfig({ ...base, DELIVERY_MODE: 'mx' })).toMatchObject({
    deliveryMode: 'mx',
    smtpConnections: 100,
    dnsServers: [],
    mxPort: 25,
    allowPrivateMx: false,
  })
  expect(() => parseConfig({ ...base, DELIVERY_MODE: 'pigeon' })).toThrow('DELIVERY_MODE')
})

test('a relay warms up itself; direct delivery lets new domains out in steps', () => {
  const read = (env: Record<string, string>) => parseConfig({ ...base, ...env }).warmUp
  const relay = { SMTP_URL: 'smtp://127.0.0.1' }
  const mx = { DELIVERY_MODE: 'mx' }
  expect([read(relay), read(mx)]).toEqual([false, true])
  expect([read({ ...relay, WARM_UP: 'true' }), read({ ...mx, WARM_UP: 'false' })]).toEqual([
    true,
    false,
  ])
  expect(read({ ...mx, WARM_UP: '' })).toBe(true)
})

test('resolvers are addresses, with or without a port', () => {
  const servers = '192.0.2.1, 127.0.0.1:5353,[::1]:53,[::1],2001:db8::1'
  expect(parseConfig({ ...base, DELIVERY_MODE: 'mx', DNS_SERVERS: servers }).dnsServers).toEqual([
    '192.0.2.1',
    '127.0.0.1:5353',
    '[::1]:53',
    '[::1]',
    '2001:db8::1',
  ])
})

test.each(['dns.example', '192.0.2.1:70000', '192.0.2.1:', '192.0.2.1,', '[::1]:x', '1.2.3.4:5:6'])(
  'no resolver: %s',
  (servers) => {
    const env = { ...base, DELIVERY_MODE: 'mx', DNS_SERVERS: servers }
    expect(() => parseConfig(env)).toThrow('DNS_SERVERS: must be ip or ip:port')
  },
)

test.each([
  ['EHLO_NAME', 'mail.acme.test', ['a b', 'a\r\nMAIL FROM:<x>', 'a.', 'a..b']],
  ['MAIL_HOST', '[192.0.2.1]', ['http://a.test', 'a/b', '[a']],
  ['SPF_MECHANISM', 'include:spf.relay.example', ['a b', 'a\n']],
] as const)('%s is what may be said to servers', (name, good, bad) => {
  const env = { ...base, DELIVERY_MODE: 'mx' }
  expect(() => parseConfig({ ...env, [name]: good })).not.toThrow()
  for (const text of bad) expect(() => parseConfig({ ...env, [name]: text }), text).toThrow(name)
})

test('proxies are addresses and networks', () => {
  const read = (text: string) =>
    parseConfig({ ...base, DELIVERY_MODE: 'mx', TRUSTED_PROXIES: text }).trustedProxies
  expect(read('10.0.0.0/8, ::1,2001:db8::/32')).toEqual(['10.0.0.0/8', '::1', '2001:db8::/32'])
  for (const bad of ['proxy.test', '10.0.0.0/33', '::1/129', '10.0.0.0/', '1.2.3.4/8/8'])
    expect(() => read(bad), bad).toThrow('TRUSTED_PROXIES')
})
