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

test.each([
  ['SMTP_URL', 'smtp://mail.test:587/#', 'smtp://u:a%23b@mail.test:587?tls=off'],
  [
    'DATABASE_URL',
    'postgres://db.test/x?sslmode=require#',
    'postgres://u:a%23b@db.test/x?sslmode=require',
  ],
])('%s means nothing with a fragment', (name, bad, good) => {
  expect(() => read({ [name]: bad })).toThrow(`${name}: has a #: percent-encode it as %23`)
  expect(() => read({ [name]: good })).not.toThrow()
})
