// Opens the Postgres pool and the Kysely handle over it.
import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import { sendLargeParameters } from './largeParameters.ts'
import { lendFrom, noteBreakage, streamOf } from './lend.ts'
import type { Database } from './schema.ts'
import { applySettings, type Settings } from './settings.ts'
import { createShares, type Shares } from './shares.ts'
import { sliceWrites } from './slicedSocket.ts'

export type Db = Kysely<Database>

declare const opened: unique symbol

/** The transaction of a command. Only `commands/transact.ts` makes one. Functions that lock or write take it. */
export type Trx = Transaction<Database> & { readonly [opened]: true }

const INT8_OID = 20
/** How long a connection may be silent before the system asks whether the server is still there. */
const KEEPALIVE_MS = 10_000

/**
 * Opens a pg pool and a Kysely handle over it. int8 is read as number, because no count or id here exceeds 2^53.
 * `onIdleError` is called when an unused connection breaks (a server restart); the pool replaces it. `shares` is null
 * unless the pool is shared.
 */
export function connect(options: {
  url: string
  poolSize: number
  name: string
  /** Server settings of each connection. */
  settings?: Settings
  /** Whether workspaces share the pool, as they do in the API: `db/shares.ts` says how. */
  shared?: boolean
  onIdleError: (err: Error) => void
}): { db: Db; pool: pg.Pool; shares: Shares | null } {
  pg.types.setTypeParser(INT8_OID, Number)
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    application_name: options.name,
    onConnect: (client) => applySettings(client, options.settings ?? {}),
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
  })
  pool.on('error', options.onIdleError)
  // A connection may break between two statements of a transaction; the next statement then fails with that error.
  pool.on('connect', noteBreakage)
  pool.on('connect', (client) => sliceWrites(streamOf(client)))
  pool.on('connect', sendLargeParameters)
  const shares = options.shared ? createShares(options.poolSize) : null
  const dialect = new PostgresDialect({ pool: lendFrom(pool, shares) })
  return { db: new Kysely<Database>({ dialect }), pool, shares }
}
