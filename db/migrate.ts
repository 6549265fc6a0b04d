// Runs migrations, and waits until the database has the schema of this release.
import { readdir } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, type Migration, Migrator, PostgresDialect } from 'kysely'
import pg from 'pg'
import { isUnavailable } from './failures.ts'

const MIGRATIONS = new URL('./migrations/', import.meta.url)

/** Every migration by its name. */
export async function loadMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(MIGRATIONS)).filter((file) => /^\d{4}.*\.(ts|js)$/.test(file))
  const entries = await Promise.all(
    files.map(async (file): Promise<[string, Migration]> => {
      const migration = (await import(new URL(file, MIGRATIONS).href)) as Migration
      return [file.replace(/\.\w+$/, ''), migration]
    }),
  )
  return Object.fromEntries(entries)
}

/**
 * Runs the migrations that have not run yet, under the migrator's lock. Any number of processes may call it.
 * @returns the names of the migrations that ran now
 */
async function migrateToLatest(db: Kysely<unknown>): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: loadMigrations } })
  const { error, results } = await migrator.migrateToLatest()
  if (error) throw error
  return (results ?? []).map((result) => result.migrationName)
}

/**
 * Like `migrateToLatest`, over connections that it opens and closes. Returns the names of the migrations that ran.
 */
export async function migrateUrl(url: string): Promise<string[]> {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    return await migrateToLatest(db)
  } finally {
    await db.destroy()
  }
}

const LOOK_MS = 1_000

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
