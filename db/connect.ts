// Opens the Postgres pool and the Kysely handle over it.
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Database } from './schema.ts'

export type Db = Kysely<Database>

const INT8_OID = 20

/**
 * A Kysely handle over a pg pool. int8 is read as number: no count or id here leaves 2^53.
 * `onIdleError` hears of connections that break while unused (a server restart): the pool replaces them.
 */
export function connect(options: {
  url: string
  poolSize: number
  name: string
  onIdleError: (err: Error) => void
}): { db: Db; pool: pg.Pool } {
  pg.types.setTypeParser(INT8_OID, Number)
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    application_name: options.name,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
  pool.on('error', options.onIdleError)
  return { db: new Kysely<Database>({ dialect: new PostgresDialect({ pool }) }), pool }
}
