// What npm start says when the machine or the environment cannot carry it: decided from readings, one sentence each.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemProblem } from '../../../dev/machine.mjs'
import { randomPort } from '../../../dev/processes/ports.ts'
import { freeDisk_mb, readMemory } from '../../../dev/processes/readings.ts'
import { goProblem } from '../../../dev/servers/goToolchain.ts'
import { clusterProblem } from '../../../dev/servers/postgresCluster.ts'
import { checkDisk, checkMemory } from '../../../dev/start/checks.ts'
import type { DevInfo } from '../../../dev/start/folder.ts'
import { addressOf, checkGiven } from '../../../dev/start/given.ts'
import { screen } from '../../../dev/start/screen.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dripline-checks-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('memory and disk', () => {
  test('too little memory in all is refused, too little free memory is said', () => {
    expect(checkMemory({ limit_mb: 16_000, free_mb: 8_000 })).toEqual({})
    const low = checkMemory({ limit_mb: 16_000, free_mb: 300 })
    expect(low.refusal).toBeUndefined()
    expect(low.warning).toMatch(/^300 MB of memory are free and about \d+ MB are needed/)
    expect(checkMemory({ limit_mb: 256, free_mb: 256 }).refusal).toMatch(/there are 256 MB: give/)
  })

  test('too little disk is refused, little is said', () => {
    expect(checkDisk(50_000, '/data')).toEqual({})
    expect(checkDisk(500, '/data').warning).toMatch(/^\/data has 500 MB of disk free/)
    expect(checkDisk(20, '/data').refusal).toMatch(/\/data has 20 MB free: .*DRIPLINE_DATA\.$/)
  })

  test('the readings of this machine are numbers that can be', () => {
    const { limit_mb, free_mb } = readMemory()
    expect(limit_mb).toBeGreaterThan(100)
    expect(free_mb).toBeGreaterThan(0)
    expect(free_mb).toBeLessThanOrEqual(limit_mb)
    // A folder that is not there yet is on the disk of the one around it.
    expect(freeDisk_mb(join(folder, 'not', 'there'))).toBeGreaterThan(0)
  })
})

test.each([
  [{ platform: 'linux', arch: 'x64', glibc: true }, ''],
  [{ platform: 'darwin', arch: 'arm64', glibc: false }, ''],
  [{ platform: 'linux', arch: 'x64', glibc: false }, /needs glibc.*use Debian/],
  [{ platform: 'linux', arch: 'riscv64', glibc: true }, /built for riscv64: use/],
  [{ platform: 'win32', arch: 'x64', glibc: false }, /run it in WSL 2/],
  [{ platform: 'freebsd', arch: 'x64', glibc: false }, /this is freebsd: use/],
])('the system %j', (system, problem) => {
  if (problem === '') expect(systemProblem(system)).toBe('')
  else expect(systemProblem(system)).toMatch(problem)
})

describe('Go', () => {
  const go = { version: '1.26.8', isFixed: false, sources: '/m', compiled: '/c', work: '/t' }
  const plenty = () => 50_000

  test('is good enough when it is new, or may fetch a newer one', () => {
    expect(goProblem(go, plenty, 'no network')).toBeUndefined()
    expect(goProblem({ ...go, version: '1.22.0' }, plenty, 'no network')).toBeUndefined()
  })

  test.each([
    ['missing', undefined, /\(no network\), and Go, which could build one, is not installed: /],
    ['too old', { ...go, version: '1.19.13', isFixed: true }, /Go 1\.19\.13 is too old .*1\.25/],
  ])('%s: one sentence with the ways to a server', (_, found, said) => {
    const problem = goProblem(found, plenty, 'no network')
    expect(problem).toMatch(said)
    expect(problem).toMatch(/TEMPORAL_ADDRESS=host:7233 to a server that runs\.$/)
  })

  test('without room for its sources names the folder and the variable that moves it', () => {
    const free = (path: string) => (path === '/m' ? 1_000 : 50_000)
    expect(goProblem(go, free, 'no network')).toMatch(/where \/m has 1000 MB: .*GOMODCACHE/)
    // Enough for each alone, but not for both on one disk.
    expect(goProblem(go, () => 2_000, 'no network')).toMatch(/takes 3700 MB of disk/)
  })
})

describe('a Postgres data folder', () => {
  test('that is new or ours is taken', () => {
    expect(clusterProblem(join(folder, 'none'))).toBeUndefined()
    const data = join(folder, 'postgres')
    mkdirSync(data)
    expect(clusterProblem(data)).toBeUndefined()
    writeFileSync(join(data, 'PG_VERSION'), '18\n')
    writeFileSync(`${data}.password`, 'secret\n')
    expect(clusterProblem(data)).toBeUndefined()
  })

  test.each([
    ['of another version', { PG_VERSION: '16\n' }, /was made by Postgres 16, .*Postgres 18: move/],
    ['without its password', { PG_VERSION: '18\n' }, /password .* is missing: put it back/],
    ['that is none', { 'notes.txt': 'mine' }, /is no Postgres cluster .*: move it away/],
  ])('%s is left alone, with a sentence', (_, files, said) => {
    const data = join(folder, 'postgres')
    mkdirSync(data)
    for (const [name, text] of Object.entries(files)) writeFileSync(join(data, name), text ?? '')
    expect(clusterProblem(data)).toMatch(said)
  })
})

describe('servers that the environment names', () => {
  test.each([
    ['postgres://u:p@db.example:6432/x', { host: 'db.example', port: 6432 }],
    ['127.0.0.1:7233', { host: '127.0.0.1', port: 7233 }],
    ['temporal', { host: 'temporal', port: 1 }],
    ['[::1]:7233', { host: '::1', port: 7233 }],
    ['postgres:///x?host=/run/postgresql', { host: '', port: 1 }],
    ['host:port', undefined],
  ])('%s', (given, address) => {
    expect(addressOf(given, 1)).toEqual(address)
  })

  test('nobody answers: the variable, the place and what to do, but no password', async () => {
    const port = await randomPort()
    const given = { SMTP_URL: `smtp://user:secret@127.0.0.1:${port}` }
    const said = await checkGiven(given).catch((err: Error) => err.message)
    expect(said).toBe(
      `SMTP_URL names 127.0.0.1:${port}, and nobody answers there (ECONNREFUSED): start that server, ` +
        'correct the address, or unset SMTP_URL, and npm start starts its own inbox.',
    )
  })

  test('a relay with TLS from the start is looked for on its own port', async () => {
    await expect(checkGiven({ SMTP_URL: 'smtps://127.0.0.1' })).rejects.toThrow('127.0.0.1:465')
  })

  test.each(['postgres://u:p@/x?host=/nowhere', 'postgres://u@%2Fnowhere/x'])(
    '%s: the socket of a Postgres on this machine is tried by its path',
    async (url) => {
      await expect(checkGiven({ DATABASE_URL: url })).rejects.toThrow(
        /cannot be used \(connect ENOENT \/nowhere/,
      )
    },
  )

  test.each([
    [{ DATABASE_URL: 'db.example' }, 'DATABASE_URL must be like postgres://user:password@host'],
    [{ TEMPORAL_ADDRESS: 'https://t.example' }, 'TEMPORAL_ADDRESS must be like host:7233: correct'],
    [{ SMTP_URL: '127.0.0.1:25' }, 'SMTP_URL must be like smtp://user:password@host:587: correct'],
  ])('%j has another shape', async (env, said) => {
    await expect(checkGiven(env)).rejects.toThrow(said)
  })

  test('a server that is no Postgres is told from one', async () => {
    const server = createServer((socket) => {
      // It closes before it has read all that pg sends.
      socket.on('error', () => undefined).end('HTTP/1.1 400 Bad Request\r\n\r\n')
    })
    const port = await randomPort()
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    try {
      const env = { DATABASE_URL: `postgres://u:secret@127.0.0.1:${port}/x` }
      const said = await checkGiven(env).catch((err: Error) => err.message)
      expect(said).toMatch(
        /^The database of DATABASE_URL cannot be used \(.+\): correct DATABASE_URL/,
      )
      expect(said).not.toContain('secret')
    } finally {
      server.close()
    }
  })

  test('somebody answers, or none is named', async () => {
    const server = createServer((socket) => socket.end())
    const port = await randomPort()
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    try {
      await checkGiven({ TEMPORAL_ADDRESS: `127.0.0.1:${port}`, DATABASE_URL: '' })
    } finally {
      server.close()
    }
  })
})

test('the screen is under 20 lines, and each line but those of a curl fits a terminal', () => {
  const url = (port: number) => `http://127.0.0.1:${port}`
  const info: DevInfo = {
    api_url: url(3000),
    api_key: `drip_${'x'.repeat(43)}`,
    inbox_url: url(1080),
    smtp_url: 'smtp://127.0.0.1:1025',
    temporal_address: '127.0.0.1:7233',
    temporal_ui_url: url(8233),
    database_url: 'postgres://dripline:secret@127.0.0.1:5433/dripline',
    api_metrics_url: `${url(9463)}/metrics`,
    metrics_url: `${url(9464)}/metrics`,
    inbound_url: 'smtp://127.0.0.1:2525',
    submission_url: 'smtp://127.0.0.1:2587',
  }
  const lines = screen(info, '/home/ada/dripline/.data').trimEnd().split('\n')
  expect(lines.length).toBeLessThan(20)
  expect(lines.filter((line) => line.length > 110 && !line.startsWith('    -'))).toEqual([])
  expect(lines.join('\n')).not.toContain('secret')
})
