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

/** The transaction of a command. `commands/transact.ts` alone makes one: locks and writes ask for it. */
export type Trx = Transaction<Database> & { readonly [opened]: true }

const INT8_OID = 20
/** Statements that are named at most; a text beyond is planned at each call, as all are without a name. */
const NAMED_MAX = 500

/**
 * Names the statements that a request repeats, so that Postgres plans them once for each connection: planning the
 * statement that accepts a mail takes longer than running it. Only our own `with` statements are named: they list
 * their columns, so a later schema cannot change what a kept plan gives back.
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

/** The pool as Kysely's dialect takes it: every query of a client goes through the names. */
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
 * A Kysely handle over a pg pool. int8 is read as number: no count or id here leaves 2^53.
 * `onIdleError` hears of connections that break while unused (a server restart): the pool replaces them.
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
  // Between two statements of a transaction nobody else listens, and an unheard error ends the process: the next
  // statement fails with it.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return {
    db: new Kysely<Database>({ dialect: new PostgresDialect({ pool: withStatementNames(pool) }) }),
    pool,
  }
}
