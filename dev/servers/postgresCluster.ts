// Makes the cluster of a Postgres data directory, or says why an existing one cannot be used.
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { endOf } from '../processes/endOf.ts'
import { startChild } from '../processes/processes.ts'
import { POSTGRES_MAJOR, type PostgresRunner } from './postgresBinaries.ts'

export const USER = 'dripline'

export interface ClusterOptions {
  /** false: no fsync, for tests. */
  durable: boolean
  /** Called with progress messages. */
  log: (line: string) => void
}

/**
 * Makes the cluster with a random password if the directory is new.
 * @returns the password of its user, which is in `<dataDir>.password`
 * @throws Error if the directory has something other than a cluster of this project, or if initdb fails
 */
export async function ensureCluster(
  dataDir: string,
  runner: PostgresRunner,
  { durable, log }: ClusterOptions,
): Promise<string> {
  const passwordFile = `${dataDir}.password`
  const problem = clusterProblem(dataDir)
  if (problem) throw new Error(problem)
  if (existsSync(join(dataDir, 'PG_VERSION'))) return readFileSync(passwordFile, 'utf8').trim()
  // initdb would refuse the directory that a killed first run left.
  const unfinished = `${dataDir}.new`
  rmSync(unfinished, { recursive: true, force: true })
  log('making a new cluster (initdb), a few seconds')
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  const password = randomBytes(18).toString('base64url')
  const given = join(dirname(dataDir), `.password-${process.pid}`)
  writeFileSync(given, `${password}\n`, { mode: 0o600 })
  if (runner.owner) {
    for (const path of [unfinished, given]) chownSync(path, runner.owner.uid, runner.owner.gid)
  }
  try {
    await initialise(unfinished, given, runner, durable)
    writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
    rmSync(dataDir, { recursive: true, force: true })
    renameSync(unfinished, dataDir)
  } finally {
    rmSync(given, { force: true })
  }
  return password
}

/**
 * Why a data directory cannot be used, in a sentence with the next step; undefined if it can be used or does not
 * exist.
 */
export function clusterProblem(dataDir: string): string | undefined {
  if (!existsSync(dataDir) || readdirSync(dataDir).length === 0) return undefined
  const away =
    'move it away for an empty start, or set DATABASE_URL to a Postgres that can read what is in it'
  const versionFile = join(dataDir, 'PG_VERSION')
  if (!existsSync(versionFile)) {
    return `${dataDir} is no Postgres cluster (it has no PG_VERSION): move it away, or name another folder with DRIPLINE_DATA.`
  }
  const version = readFileSync(versionFile, 'utf8').trim()
  if (version !== POSTGRES_MAJOR) {
    return `${dataDir} was made by Postgres ${version || 'of no version'}, and this project runs on Postgres ${POSTGRES_MAJOR}: ${away}.`
  }
  if (existsSync(`${dataDir}.password`)) return undefined
  return `${dataDir} holds a cluster, but its password ${dataDir}.password is missing: put it back, or ${away}.`
}

async function initialise(
  dir: string,
  passwordFile: string,
  runner: PostgresRunner,
  durable: boolean,
) {
  const logFile = `${dir}.log`
  const [command = '', ...args] = [
    ...runner.prefix,
    runner.initdb,
    `--pgdata=${dir}`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ]
  const options = { name: 'initdb', command, args, logFile, ...processOptions(runner) }
  const child = await startChild(options)
  const exit = await child.exited
  if (exit.code !== 0) throw new Error(endOf(child, exit))
  rmSync(logFile, { force: true })
}

/**
 * Options of Postgres processes: a fixed locale, because that of the machine would change messages and sorting,
 * and a working directory that their user may enter.
 */
export function processOptions(runner: PostgresRunner) {
  const env = { LC_ALL: 'C', LANG: 'C', TZ: 'UTC' }
  return { env, cwd: '/', ...(runner.user ?? {}) }
}
