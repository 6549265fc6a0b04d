// The recorded database of an earlier release, with waiting executions and mail.
import { readFileSync } from 'node:fs'
import { Kysely, Migrator, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { loadMigrations } from '../../db/migrate.ts'

export interface LeftBehind {
  /** Time of the recording, ms. */
  recorded: number
  /** The last migration that had run then. */
  schema: string
  ids: Record<string, string>
  rows: Record<string, Record<string, unknown>[]>
}

/** Reads a recording of test/fixtures/upgrade. */
export function readLeftBehind(name: string): LeftBehind {
  const file = new URL(`../fixtures/upgrade/${name}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as LeftBehind
}

/** Migrates an empty database to that schema and fills it. All its times are moved by `later_ms`. */
export async function leaveBehind(url: string, left: LeftBehind, later_ms: number): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    const migrator = new Migrator({ db, provider: { getMigrations: loadMigrations } })
    const { error } = await migrator.migrateTo(left.schema)
    if (error) throw error
    await db.transaction().execute(async (trx) => {
      // Foreign keys are not checked, because the tables come in any order.
      await sql`set local session_replication_role = replica`.execute(trx)
      for (const [table, rows] of Object.entries(left.rows)) {
        const moved = JSON.stringify(moveTimes(rows, later_ms))
        await sql`insert into ${sql.table(table)} overriding system value
          select * from jsonb_populate_recordset(null::${sql.table(table)}, ${moved}::jsonb)`.execute(
          trx,
        )
      }
      await moveSequences(trx)
    })
  } finally {
    await db.destroy()
  }
}

/** Sets the sequences after the ids of the recording. */
async function moveSequences(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ table: string; sequence: string }>`
    select table_name as table, pg_get_serial_sequence(table_name, 'id') as sequence
    from information_schema.columns
    where table_schema = 'public' and column_name = 'id'
      and pg_get_serial_sequence(table_name, 'id') is not null`.execute(db)
  for (const { table, sequence } of rows) {
    await sql`select setval(${sequence}, coalesce(max(id), 1)) from ${sql.table(table)}`.execute(db)
  }
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$/

/** Matches times of the database, and numbers that are ms of those years. */
function moveTimes(value: unknown, later_ms: number): unknown {
  if (typeof value === 'string' && TIME.test(value)) {
    return new Date(Date.parse(value) + later_ms).toISOString()
  }
  if (typeof value === 'number' && value > 1.7e12 && value < 2e12) return value + later_ms
  if (Array.isArray(value)) return value.map((one) => moveTimes(one, later_ms))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, moveTimes(one, later_ms)]),
  )
}
