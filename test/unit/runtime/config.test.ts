// The environment: what is missing or wrong is said all at once, and process.env is read in the mains alone.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError, parseConfig } from '../../../runtime/config.ts'

const complete = {
  DATABASE_URL: 'postgres://127.0.0.1/dripline',
  SECRET_KEY: Buffer.alloc(32).toString('base64'),
  SMTP_URL: 'smtp://127.0.0.1:1025',
}

test('a complete environment has defaults for all else', () => {
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

test('only the process entry points read process.env', () => {
  const rooms = [
    'api',
    'worker',
    'workflows',
    'activities',
    'commands',
    'delivery',
    'inbound',
    'operate',
    'rules',
    'mail',
    'db',
    'runtime',
  ]
  const readers = rooms.flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(room, file))
      .filter((file) => readFileSync(file, 'utf8').includes('process.env')),
  )
  expect(readers.sort()).toEqual([
    'api/main.ts',
    'operate/createKey.ts',
    'operate/lanes.ts',
    'operate/migrate.ts',
    'worker/main.ts',
  ])
})
