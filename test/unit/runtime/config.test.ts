// The environment: all faults are listed at once, and process.env is read only in entry points.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ConfigError, parseConfig, parseOperatorConfig } from '../../../runtime/config.ts'
import { filesOf, rooms } from '../../setup/sources.ts'

const complete = {
  DATABASE_URL: 'postgres://127.0.0.1/dripline',
  SECRET_KEY: Buffer.alloc(32).toString('base64'),
  SMTP_URL: 'smtp://127.0.0.1:1025',
}

test('other variables have defaults', () => {
  const config = parseConfig({ ...complete, PUBLIC_URL: 'https://mail.acme.test/', LOG_LEVEL: '' })
  expect(config).toMatchObject({
    port: 3000,
    publicUrl: 'https://mail.acme.test',
    workerRoles: ['executions', 'delivery'],
    logLevel: 'info',
    deliveryLanes: 1,
  })
  expect(config.secretKey).toHaveLength(32)
  expect(Object.isFrozen(config)).toBe(true)
})

test('all faults are listed together, by name', () => {
  const faulty = { SECRET_KEY: 'short', SMTP_URL: 'http://x', PORT: '70000', WORKER_ROLES: 'cook' }
  let message = ''
  try {
    parseConfig(faulty)
  } catch (err) {
    expect(err).toBeInstanceOf(ConfigError)
    message = err instanceof Error ? err.message : ''
  }
  for (const name of [
    'DATABASE_URL: is missing',
    'SECRET_KEY:',
    'SMTP_URL:',
    'PORT:',
    'WORKER_ROLES',
  ]) {
    expect(message).toContain(name)
  }
})

test('a fault in a list is said of its variable, once', () => {
  const roles = { ...complete, WORKER_ROLES: 'executions,sending,cooking' }
  expect(() => parseConfig(roles)).toThrow(
    /^The environment is not complete:\n {2}WORKER_ROLES: Invalid option: expected one of "executions"\|"delivery"$/,
  )
})

test('what is set for the listener without its port is known, so that the worker can say so', () => {
  const set = { FBL_ADDRESS: 'fbl@mx.test', FBL_SIGNERS: 'b.test', POSTMASTER: 'o@x.test' }
  expect(parseConfig(complete).unusedInbound).toEqual([])
  expect(parseConfig({ ...complete, INBOUND_PORT: '2525', ...set }).unusedInbound).toEqual([])
  expect(parseConfig({ ...complete, ...set })).toMatchObject({
    inbound: null,
    unusedInbound: ['FBL_ADDRESS', 'FBL_SIGNERS', 'POSTMASTER'],
  })
  expect(parseConfig({ ...complete, POSTMASTER: 'o@x.test' }).unusedInbound).toEqual(['POSTMASTER'])
})

test('the mailboxes of the listener', () => {
  const env = { ...complete, INBOUND_PORT: '2525' }
  expect(parseConfig(env).inbound).toMatchObject({
    fblAddress: null,
    fblSigners: [],
    postmaster: null,
  })
  const set = {
    FBL_ADDRESS: 'fbl@mx.test',
    FBL_SIGNERS: 'ARF.mail.test, b.test',
    POSTMASTER: 'o@x.test',
  }
  expect(parseConfig({ ...env, ...set }).inbound).toMatchObject({
    fblAddress: 'fbl@mx.test',
    fblSigners: ['arf.mail.test', 'b.test'],
    postmaster: 'o@x.test',
  })
  for (const [name, value] of [
    ['FBL_ADDRESS', 'fbl'],
    ['FBL_ADDRESS', 'Loop <fbl@mx.test>'],
    ['FBL_SIGNERS', 'a@b.test'],
    ['FBL_SIGNERS', 'a.test,,b.test'],
    ['POSTMASTER', 'a@b.test, c@d.test'],
  ] as const) {
    expect(() => parseConfig({ ...env, [name]: value })).toThrow(`${name}: must be`)
  }
})

test('a command line reads only the variables that it names', () => {
  const env = { DATABASE_URL: 'postgres://127.0.0.1/x', DELIVERY_LANES: 'many', SMTP_URL: 'no' }
  expect(parseOperatorConfig(env, ['databaseUrl'])).toEqual({ databaseUrl: env.DATABASE_URL })
  const settings = ['databaseUrl', 'temporalAddress', 'temporalNamespace', 'deliveryLanes'] as const
  expect(parseOperatorConfig({ ...env, DELIVERY_LANES: '' }, settings)).toEqual({
    databaseUrl: env.DATABASE_URL,
    temporalAddress: '127.0.0.1:7233',
    temporalNamespace: 'default',
    deliveryLanes: undefined,
  })
  expect(() => parseOperatorConfig({ ...env, DATABASE_URL: '' }, settings)).toThrow(
    /DATABASE_URL: is missing\n {2}DELIVERY_LANES: /,
  )
})

test('process.env is read in one line of each entry point, and nowhere else', () => {
  const lines = filesOf([...rooms, 'dev']).flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => /\bprocess\.env\b/.test(line))
      .map(() => file),
  )
  // Plain Node scripts that run before anything is installed: each is an entry point.
  const scripts = /^dev\/install\w*\.mjs$/
  expect(lines.filter((file) => !scripts.test(file)).sort()).toEqual([
    // What it prints for callers to copy.
    'api/http/samples.ts',
    'api/main.ts',
    // The environment that children inherit.
    'dev/processes/processes.ts',
    'dev/start/main.ts',
    // The few variables that the process of templates gets.
    'mail/content/pool/child.ts',
    'operate/createKey.ts',
    'operate/lanes.ts',
    'operate/limits.ts',
    'operate/migrate.ts',
    'operate/outbox.ts',
    'operate/reEncrypt.ts',
    'operate/recover.ts',
    'operate/retention.ts',
    'operate/warmUp.ts',
    'worker/main.ts',
  ])
})
