// Runs migrations, and waits until the database has the schema of this release.
import { readdir } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, type Migration, Migrator, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { busyReason, isUnavailable } from './failures.ts'

const MIGRATIONS = new URL('./migrations/', import.meta.url)
/** Key of the session's advisory lock under which migrations run. */
export const MIGRATION_LOCK = 0x64726970
const LOCK_LOOK_MS = 250
/** How long a migration waits for the lock of a table, and how often it tries. */
const LOCK_WAIT_MS = 3_000
const LOCK_TRIES = 20
const LOOK_MS = 1_000

/** A migration; `outsideTransaction` in those that build indexes beside writers. */
type OwnMigration = Migration & { outsideTransaction?: boolean }

/** Every migration by its name. */
export async function loadMigrations(): Promise<Record<string, OwnMigration>> {
  const files = (await readdir(MIGRATIONS)).filter((file) => /^\d{4}.*\.(ts|js)$/.test(file))
  const entries = await Promise.all(
    files.map(async (file): Promise<[string, OwnMigration]> => {
      const migration = (await import(new URL(file, MIGRATIONS).href)) as OwnMigration
      return [file.replace(/\.\w+$/, ''), migration]
    }),
  )
  return Object.fromEntries(entries)
}

/**
 * Every migration by its name. Each begins with the usual `lock_timeout`: one that has built indexes leaves its session without any, and whoever
 * waits for the lock of a table makes everybody else wait who comes after.
 */
async function loadBounded(): Promise<Record<string, Migration>> {
  const bounded = Object.entries(await loadMigrations()).map(
    ([name, { up }]): [string, Migration] => [
      name,
      {
        async up(db) {
          await sql`select set_config('lock_timeout', ${String(LOCK_WAIT_MS)}, false)`.execute(db)
          await up(db)
        },
      },
    ],
  )
  return Object.fromEntries(bounded)
}

/**
 * Runs the migrations that have not run yet. Those in a row that run in a transaction share one; one that says
 * `outsideTransaction` runs alone, and must bear to be run again. Any number of processes may call it.
 * @returns the names of the migrations that ran now
 */
async function migrateToLatest(db: Kysely<unknown>): Promise<string[]> {
  return db.connection().execute(async (holding) => {
    await lockMigrations(holding)
    const migrations = await loadMigrations()
    const pending = await listPending(db)
    for (const [i, name] of pending.entries()) {
      const disableTransactions = migrations[name]?.outsideTransaction ?? false
      const next = pending[i + 1]
      const joins = next !== undefined && !migrations[next]?.outsideTransaction
      // `migrateTo` runs all that are before it too.
      if (disableTransactions || !joins) await migrateTo(db, name, disableTransactions)
    }
    return pending
  })
}

/**
 * Makes this session the one that migrates. It asks again and again, because a statement that waits for the lock would
 * keep a snapshot, and building an index waits for those.
 */
async function lockMigrations(holding: Kysely<unknown>): Promise<void> {
  for (;;) {
    const { rows } = await sql`
      select where pg_try_advisory_lock(${MIGRATION_LOCK})`.execute(holding)
    if (rows.length > 0) return
    await pause(LOCK_LOOK_MS)
  }
}

/** Migrates up to this one. A lock that is not free within `LOCK_WAIT_MS` is asked for again some times. */
async function migrateTo(
  db: Kysely<unknown>,
  name: string,
  disableTransactions: boolean,
): Promise<void> {
  const provider = { getMigrations: loadBounded }
  const migrator = new Migrator({ db, provider, disableTransactions })
  for (let tries = 1; ; tries++) {
    const { error } = await migrator.migrateTo(name)
    if (!error) return
    if (tries >= LOCK_TRIES || busyReason(error) !== 'locked') throw error
    await pause(LOOK_MS)
  }
}

/**
 * Like `migrateToLatest`, over connections that it opens and closes. Returns the names of the migrations that ran.
 */
export async function migrateUrl(url: string): Promise<string[]> {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  pool.on('error', () => undefined)
  // With the connection that holds the lock the lock is gone, also while another one works, and somebody else may migrate.
  const clients = new Set<pg.PoolClient>()
  const broken = new Promise<never>((_, reject) => {
    pool.on('connect', (client) => {
      clients.add(client)
      client.on('error', (err) => {
        for (const one of clients) void one.end().catch(() => undefined)
        reject(err)
      })
    })
  })
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    return await Promise.race([migrateToLatest(db), broken])
  } finally {
    await db.destroy()
  }
}

/** Names of this release's migrations that the database has not run. */
async function listPending(db: Kysely<unknown>): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: loadMigrations } })
  const all = await migrator.getMigrations()
  return all.filter(({ executedAt }) => executedAt === undefined).map(({ name }) => name)
}

/**
 * Resolves when the database has the schema of this release. With an older schema a settlement could fail after
 * its message was sent.
 * @param hooks `onPending` gets the names of missing migrations; `onAway` is called if the database does not
 * answer and returns whether to wait
 */
export async function waitForSchema<D>(
  db: Kysely<D>,
  hooks: {
    signal: AbortSignal
    onPending: (names: string[]) => void
    onAway: (err: unknown) => boolean
  },
): Promise<void> {
  while (!hooks.signal.aborted) {
    try {
      const pending = await listPending(db as unknown as Kysely<unknown>)
      if (pending.length === 0) return
      hooks.onPending(pending)
    } catch (err) {
      if (!isUnavailable(err)) throw err
      if (!hooks.onAway(err)) return
    }
    await pause(LOOK_MS, null, { signal: hooks.signal }).catch(() => undefined)
  }
}
