// API, worker and command lines that an operator has configured wrongly: they end at once and say what failed, which
// variable to look at and what to do, without a stack.
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { loadAddressKey } from '../../commands/opt-outs/addressMac.ts'
import { randomPort } from '../../dev/processes/ports.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { builtServices } from '../setup/built.ts'
import { createTestDatabase, type TestDatabase } from '../setup/database.ts'
import { type CommandOutput, runOperator } from '../setup/operator.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'
import { takePort } from '../setup/takenPort.ts'
import { uniqueName } from '../setup/unique.ts'

let database: TestDatabase
let taken: Awaited<ReturnType<typeof takePort>>
let deadPort: number

beforeAll(async () => {
  database = await createTestDatabase()
  const secrets = createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64'))
  await loadAddressKey({ db: database.db, secrets, now: () => new Date(), wake: () => undefined })
  taken = await takePort()
  deadPort = await randomPort()
})
afterAll(() => {
  taken.close()
})

/** Runs a process of the build until it ends. */
async function start(name: 'api' | 'worker', env: Record<string, string>): Promise<CommandOutput> {
  const folder = inject('runFolder')
  const dist = await builtServices(folder)
  const ports = { PORT: '0', API_METRICS_PORT: '0', METRICS_PORT: '0' }
  const usual = {
    PATH: process.env['PATH'],
    DATABASE_URL: database.url,
    SECRET_KEY: TEST_SECRET_KEY,
    SMTP_URL: 'smtp://127.0.0.1:25',
    TEMPORAL_ADDRESS: `127.0.0.1:${deadPort}`,
    WORKER_STATE_DIR: join(folder, uniqueName('state')),
  }
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--enable-source-maps', join(dist, name, 'main.js')],
      { env: { ...usual, ...ports, ...env }, timeout: 60_000 },
      (_, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}

const wrongPassword = () => {
  const url = new URL(database.url)
  url.password = 'S3CRETword'
  return url.href
}
const file = () => {
  const path = join(inject('runFolder'), uniqueName('file'))
  writeFileSync(path, '')
  return path
}
const another = Buffer.alloc(32, 9).toString('base64')
const inbound = { INBOUND_PORT: '0' }

type Case = [
  what: string,
  process: 'api' | 'worker',
  env: () => Record<string, string>,
  said: RegExp,
]
const refused: Case[] = [
  [
    'a port that is taken',
    'api',
    () => ({ PORT: `${taken.port}` }),
    /^PORT is \d+ and HOST is 127\.0\.0\.1, .*EADDRINUSE.*\nSet PORT to a port that nothing uses/,
  ],
  [
    'a port for metrics that is taken',
    'api',
    () => ({ API_METRICS_PORT: `${taken.port}` }),
    /^API_METRICS_PORT is .*EADDRINUSE.*\nSet API_METRICS_PORT to /,
  ],
  [
    'a port for metrics that is taken',
    'worker',
    () => ({ METRICS_PORT: `${taken.port}` }),
    /^METRICS_PORT is .*EADDRINUSE.*\nSet METRICS_PORT to /,
  ],
  [
    'a host that is not of this machine',
    'api',
    () => ({ HOST: '192.0.2.1' }),
    /and HOST is 192\.0\.2\.1, .*EADDRNOTAVAIL.*\nSet HOST to an address of this machine/,
  ],
  [
    'a port for reports that is taken',
    'worker',
    () => ({ INBOUND_PORT: `${taken.port}` }),
    /^INBOUND_PORT is .*EADDRINUSE.*\nSet INBOUND_PORT to /,
  ],
  [
    'a certificate that is not there',
    'worker',
    () => ({ ...inbound, INBOUND_TLS_CERT: '/nowhere.pem', INBOUND_TLS_KEY: '/nowhere.key' }),
    /^The certificate of \/nowhere\.pem .*ENOENT.*\nSet INBOUND_TLS_CERT and INBOUND_TLS_KEY to files/,
  ],
  [
    'a certificate without its key',
    'worker',
    () => ({ ...inbound, INBOUND_TLS_CERT: '/nowhere.pem' }),
    /^Only one of INBOUND_TLS_CERT and INBOUND_TLS_KEY is set\.\nThey belong together/,
  ],
  [
    'a port for TLS without a certificate',
    'worker',
    () => ({ SUBMISSION_PORT: '0', SUBMISSION_TLS_PORT: '0' }),
    /^SUBMISSION_TLS_PORT is set without a certificate\.\nSet SUBMISSION_TLS_CERT/,
  ],
  [
    'a folder of state files that is a file',
    'worker',
    () => ({ WORKER_STATE_DIR: file() }),
    /^The folder of WORKER_STATE_DIR cannot be used: EEXIST.*\nSet WORKER_STATE_DIR to a folder/,
  ],
  ...(['api', 'worker'] as const).flatMap((name): Case[] => [
    [
      'another SECRET_KEY',
      name,
      () => ({ SECRET_KEY: another }),
      /^SECRET_KEY does not open what Postgres holds.*\nSet SECRET_KEY .*SECRET_KEY_PREVIOUS/,
    ],
    [
      'a wrong password of Postgres',
      name,
      () => ({ DATABASE_URL: wrongPassword() }),
      /^Postgres cannot be used: password authentication failed.*\nCheck .*DATABASE_URL/,
    ],
  ]),
]

test.each(refused)('%s: %s', async (_what, name, env, said) => {
  const { code, stdout, stderr } = await start(name, env())
  expect(stderr).toMatch(said)
  expect(stderr).toMatch(/^[^\n]+\n[^\n]+\n$/)
  expect(code).toBe(1)
  expect(stderr + stdout).not.toContain('S3CRETword')
  // Nothing has begun: of what a worker does its log says nothing yet.
  expect(stdout).not.toMatch(/taking reports|taking mail by SMTP/)
})

test.each([
  ['migrate', 'The schema was not brought up to date.'],
  ['createKey', 'No key was made.'],
])('%s without a Postgres, or with a wrong password', async (command, what) => {
  for (const [url, why] of [
    [`postgres://u:S3CRETword@127.0.0.1:${deadPort}/x`, 'connect ECONNREFUSED'],
    [`postgres://u:S3CRETword@localhost:${deadPort}/x`, 'connect ECONNREFUSED'],
    [wrongPassword(), 'password authentication failed'],
  ] as const) {
    const { code, stdout, stderr } = await runOperator(command, [], { DATABASE_URL: url })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^[^\n]+\n[^\n]+\n$/)
    expect(stderr).toContain(`${what} Postgres cannot be used: ${why}`)
    expect(stderr).toMatch(/\nCheck .* in DATABASE_URL/)
    expect(stderr).not.toContain('S3CRETword')
  }
})
