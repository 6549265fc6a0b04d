// A secret that stands in a variable is never in an error of the start or in a log, however the variable is misspelt.
import { inspect } from 'node:util'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { connect } from '../../../db/connect.ts'
import { createRelayTransport } from '../../../mail/smtp/relay.ts'
import { ConfigError, parseConfig, parseOperatorConfig } from '../../../runtime/config.ts'
import { Variables } from '../../../runtime/environment.ts'
import { createTransport } from '../../../worker/createTransport.ts'

const SECRET = 'S3CRETword'
const complete = {
  DATABASE_URL: 'postgres://127.0.0.1/dripline',
  SECRET_KEY: Buffer.alloc(32).toString('base64'),
  SMTP_URL: 'smtp://127.0.0.1:1025',
}

/** All that could be printed of an error: as node prints it, and as the log writes it. */
const printed = (err: unknown): string =>
  `${inspect(err, { depth: 10, showHidden: true })}${JSON.stringify(pino.stdSerializers.err(err as Error))}`

function errorOf(work: () => unknown): unknown {
  try {
    work()
  } catch (err) {
    return err
  }
  return undefined
}

const malformed = (scheme: string) => [
  `${scheme}://user:${SECRET}@host:port`,
  `${scheme}://user:${SECRET}@host:70000`,
  `${scheme}://user:${SECRET}@[::1`,
  `${scheme}://user:12/${SECRET}@host/db`,
  `${scheme}://user:12?${SECRET}@host/db`,
  `${scheme}://user:12#${SECRET}@host/db`,
  `${scheme}://user:a/${SECRET}@host/db`,
  `${scheme}:/user:${SECRET}@host`,
  `http://user:${SECRET}@host`,
  `user:${SECRET}@host`,
]

const wrong: Record<string, string[]> = {
  DATABASE_URL: malformed('postgres'),
  SMTP_URL: [
    ...malformed('smtp'),
    ...malformed('smtps'),
    `smtp://user:${SECRET}%zz@host`,
    `smtp://:${SECRET}@`,
    `smtp://user:${SECRET}@host?tls=of`,
  ],
  PUBLIC_URL: [`https://user:${SECRET}@host`, `https://user:${SECRET}@host:port`],
  TEMPORAL_ADDRESS: [`user:${SECRET}@host:7233`],
  SECRET_KEY: [SECRET],
  INBOUND_TLS_KEY: [`-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----`],
  INBOUND_TLS_CERT: [`-----BEGIN CERTIFICATE-----\n${SECRET}\n-----END CERTIFICATE-----`],
}

describe('a malformed value is refused by the name of its variable, without the value', () => {
  const rows = Object.entries(wrong).flatMap(([name, values]) =>
    values.map((value): [string, string] => [name, value]),
  )
  test.each(rows)('%s=%j', (name, value) => {
    const error = errorOf(() => parseConfig({ ...complete, [name]: value }))
    expect(error).toBeInstanceOf(ConfigError)
    expect(String(error)).toContain(`${name}: `)
    expect(printed(error)).not.toContain(SECRET)
  })

  test.each(wrong['DATABASE_URL'] ?? [])('of a command line: DATABASE_URL=%j', (value) => {
    const error = errorOf(() => parseOperatorConfig({ DATABASE_URL: value }, ['databaseUrl']))
    expect(error).toBeInstanceOf(ConfigError)
    expect(printed(error)).not.toContain(SECRET)
  })

  test.each(Object.keys(Variables.shape))('%s says nothing of what came', (name) => {
    for (const value of [SECRET, `${SECRET} `, `smtp//u:${SECRET}@h`, `${SECRET},${SECRET}`]) {
      const error = errorOf(() => parseConfig({ ...complete, [name]: value }))
      if (error !== undefined) expect(printed(error)).not.toContain(SECRET)
    }
  })
})

test.each([
  'postgres://user:p%2Fss@host:5432/db?sslmode=require',
  'postgresql://user@/db?host=/var/run/postgresql',
  'postgres://%2Ftmp%2Fsocket/db',
  'postgres:///db',
  'postgres://[::1]:5432/db',
])('DATABASE_URL=%s is taken', (value) => {
  expect(parseConfig({ ...complete, DATABASE_URL: value }).databaseUrl).toBe(value)
})

test.each([
  'smtps://user:p%40ss@mail.test',
  'smtp://u:p@localhost:2525?tls=off',
  'smtp://[::1]:25/',
])('SMTP_URL=%s is taken', (value) =>
  expect(parseConfig({ ...complete, SMTP_URL: value }).smtpUrl).toBe(value),
)

test('the transport does not print the URL of the relay', () => {
  const urls = [...(wrong['SMTP_URL'] ?? []), `smtp://user:${SECRET}@host?tls=off`]
  for (const url of urls) {
    const options = { url, connections: 1, ehloName: 'us.test' }
    expect(printed(errorOf(() => createRelayTransport(options)))).not.toContain(SECRET)
  }
  const config = { ...parseConfig(complete), smtpUrl: `smtp://user:${SECRET}@host?tls=off` }
  expect(printed(errorOf(() => createTransport(config)))).toMatch(/^(?!.*S3CRET).*tls=off/s)
})

test('a password that would cross the network in the clear is said of its variable', () => {
  const error = errorOf(() =>
    parseConfig({ ...complete, SMTP_URL: `smtp://user:${SECRET}@host?tls=off` }),
  )
  expect(error).toBeInstanceOf(ConfigError)
  expect(printed(error)).toMatch(/^(?!.*S3CRET).*SMTP_URL: has a password and tls=off/s)
})

test.each(['127.0.0.1:1', 'nobody.invalid'])(
  'a database at %s that does not answer: the error is without the password',
  async (host) => {
    const url = `postgres://user:${SECRET}@${host}/db`
    const { db } = connect({ url, poolSize: 1, name: 'test', onIdleError: () => undefined })
    const error = await db
      .selectFrom('emails')
      .select('id')
      .execute()
      .catch((err: unknown) => err)
    await db.destroy()
    expect(error).toBeInstanceOf(Error)
    expect(printed(error)).not.toContain(SECRET)
  },
)
