// What a variable may look like: what would be taken in another way than it was meant is refused at the start.
import { expect, test } from 'vitest'
import { parseConfig } from '../../../runtime/config.ts'

const complete = {
  DATABASE_URL: 'postgres://127.0.0.1/dripline',
  SECRET_KEY: Buffer.alloc(32).toString('base64'),
  SMTP_URL: 'smtp://127.0.0.1:1025',
}
const read = (env: Record<string, string>) => parseConfig({ ...complete, ...env })

test('links begin with the public address: it has neither a query nor a fragment', () => {
  const bases = ['https://api.acme.test', 'https://api.acme.test/', 'https://acme.test/mail/']
  expect(bases.map((url) => read({ PUBLIC_URL: url }).publicUrl)).toEqual([
    'https://api.acme.test',
    'https://api.acme.test',
    'https://acme.test/mail',
  ])
  for (const url of [
    'https://a.test/#',
    'https://a.test#x',
    'https://a.test/?',
    'https://a.test?a=1',
  ]) {
    expect(() => read({ PUBLIC_URL: url }), url).toThrow('PUBLIC_URL: must end with its host or')
  }
})

test('numbers are whole and in decimal digits', () => {
  const numbers = {
    ...{ PORT: '8080', METRICS_PORT: '0', INBOUND_PORT: ' 25\n', DELIVERY_LANES: '64' },
    ...{
      WORKER_NICE: '0',
      LEASE_SECONDS: '3600',
      DATABASE_POOL_SIZE: '2',
      WEBHOOK_RETENTION_DAYS: '30',
    },
  }
  expect(read(numbers)).toMatchObject({
    ...{ port: 8080, metricsPort: 0, inbound: { port: 25 }, deliveryLanes: 64 },
    ...{ workerNice: 0, leaseMs: 3_600_000, databasePoolSize: 2 },
  })
  const bad = [' ', '0x50', '1e3', '1.0', '+25', '-1', '٢٥', '9'.repeat(30), 'Infinity']
  for (const name of Object.keys(numbers)) {
    for (const text of bad) {
      expect(() => read({ [name]: text }), `${name}=${text}`).toThrow(
        `${name}: must be a whole number from `,
      )
    }
  }
})

test('the address of Temporal is a host and a port', () => {
  const good = [
    'temporal:7233',
    '127.0.0.1:7233',
    '[::1]:7233',
    'temporal',
    'my_temporal.svc.test:1',
  ]
  for (const text of good) expect(read({ TEMPORAL_ADDRESS: text }).temporalAddress).toBe(text)
  const bad = [
    'http://temporal:7233',
    'a b',
    ' ',
    'a:0',
    'a:70000',
    'a:',
    'a:7233/x',
    '::1',
    '[1.2.3.4]:1',
    'a:1:2',
  ]
  for (const text of bad) {
    expect(() => read({ TEMPORAL_ADDRESS: text }), text).toThrow(
      'TEMPORAL_ADDRESS: must be host:port',
    )
  }
})

test.each([
  ['SMTP_URL', 'smtp://mail.test:587/#', 'smtp://u:a%23b@mail.test:587?tls=required'],
  [
    'DATABASE_URL',
    'postgres://db.test/x?sslmode=require#',
    'postgres://u:a%23b@db.test/x?sslmode=require',
  ],
])('%s means nothing with a fragment', (name, bad, good) => {
  expect(() => read({ [name]: bad })).toThrow(`${name}: has a #: percent-encode it as %23`)
  expect(() => read({ [name]: good })).not.toThrow()
})
