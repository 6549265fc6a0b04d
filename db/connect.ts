// Opens the Postgres pool and the Kysely handle over it.
import { createHash } from 'node:crypto'
import {
  Kysely,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type Transaction,
} from 'kysely'
import pg from 'pg'
import type { Database } from './schema.ts'

export type Db = Kysely<Database>

declare const opened: unique symbol

/** The transaction of a command. Only `commands/transact.ts` makes one. Functions that lock or write take it. */
export type Trx = Transaction<Database> & { readonly [opened]: true }

const INT8_OID = 20
/** The most statements that get a name; further ones are planned at each call. */
const NAMED_MAX = 500

/**
 * Makes a function that names repeated statements, so that Postgres plans them once for each connection: planning
 * the statement that accepts an email takes longer than running it. Only statements that begin with `with` get a
 * name: they list their columns, so a later migration cannot change the result of a cached plan.
 */
function createStatementNames() {
  const names = new Map<string, string>()
  return (text: string): string | undefined => {
    if (!/^\s*with\s/i.test(text)) return undefined
    const known = names.get(text)
    if (known || names.size >= NAMED_MAX) return known
    const name = `s${names.size}_${createHash('sha1').update(text).digest('base64url').slice(0, 16)}`
    names.set(text, name)
    return name
  }
}

/** Wraps the pool for Kysely, so that queries are named. */
function withStatementNames(pool: pg.Pool): PostgresPool {
  const nameOf = createStatementNames()
  return {
    async connect(): Promise<PostgresPoolClient> {
      const client = await pool.connect()
      const query: unknown = (text: string, values: readonly unknown[]) => {
        const name = nameOf(text)
        return client.query({ text, values: [...values], ...(name ? { name } : {}) })
      }
      return { query: query as PostgresPoolClient['query'], release: () => client.release() }
    },
    end: () => pool.end(),
  }
}

/**
 * Opens a pg pool and a Kysely handle over it. int8 is read as number, because no count or id here exceeds 2^53.
 * `onIdleError` is called when an unused connection breaks (a server restart); the pool replaces it.
 */
export function connect(options: {
  url: string
  poolSize: number
  name: string
  /** Server settings of each connection, as `name=value`. */
  settings?: readonly string[]
  onIdleError: (err: Error) => void
}): { db: Db; pool: pg.Pool } {
  pg.types.setTypeParser(INT8_OID, Number)
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    application_name: options.name,
    ...(options.settings ? { options: options.settings.map((one) => `-c ${one}`).join(' ') } : {}),
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
  pool.on('error', options.onIdleError)
  // A connection may break between two statements of a transaction. Without a listener that error would end the
  // process; the next statement fails anyway.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return {
    db: new Kysely<Database>({ dialect: new PostgresDialect({ pool: withStatementNames(pool) }) }),
    pool,
  }
}
