// Server settings of a database connection: how long it may wait, and how each side notices that the other is gone.
import type pg from 'pg'
import { limits } from '../rules/limits.ts'

/** Names and values as `set` takes them; numbers without a unit are those of Postgres (ms, or s for keepalives). */
export type Settings = Readonly<Record<string, string | number>>

/** How often a backend that waits or works looks whether its client is still there. One system call each time. */
const CLIENT_LOOK_MS = 500
/** A transaction of the API does nothing between its statements that takes longer, even on a busy machine. */
const IDLE_IN_TRANSACTION_MS = 10_000
/** A segment may walk through many nodes between two statements, on a thread that others keep busy. */
const WORKER_IDLE_IN_TRANSACTION_MS = 30_000
/** What waits for a lock for so long holds one of few connections, and is tried again later. */
const WORKER_LOCK_WAIT_MS = 30_000
/** As long as Temporal gives one try of a segment. */
const WORKER_STATEMENT_MS = 120_000

/** A host that disappeared is noticed within a minute (30 s of silence, then 3 questions). */
const keepalives: Settings = {
  tcp_keepalives_idle: 30,
  tcp_keepalives_interval: 10,
  tcp_keepalives_count: 3,
}

/**
 * Statements that follow a lock must see what was committed while it was waited for, such as the waits of a contact. A database may
 * have another default.
 */
const isolation: Settings = { default_transaction_isolation: 'read committed' }

/**
 * The connections of the API. A lock is waited for as long as a caller waits without giving up; a statement may
 * take long enough for 39 MB of html on a slow disk and for a long list, and no longer, since its connection serves
 * nobody else.
 * Every query of the API that reads what grows has an index; a plan that was cached while the tables were small must use it too.
 */
export const apiSettings: Settings = {
  lock_timeout: limits.lockWaitMsMax,
  statement_timeout: limits.statementMsMax,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  ...keepalives,
  ...isolation,
  client_connection_check_interval: CLIENT_LOOK_MS,
  enable_seqscan: 'off',
}

/**
 * The connections of a worker: what it holds when it freezes, or when its machine disappears, others get within a minute.
 * Every query of a worker has an index; a plan that was cached while the tables were small must use it too.
 */
export const workerSettings: Settings = {
  lock_timeout: WORKER_LOCK_WAIT_MS,
  statement_timeout: WORKER_STATEMENT_MS,
  idle_in_transaction_session_timeout: WORKER_IDLE_IN_TRANSACTION_MS,
  ...keepalives,
  ...isolation,
  client_connection_check_interval: CLIENT_LOOK_MS,
  enable_seqscan: 'off',
}

/** Not every system of a Postgres server can do this; it refuses any other value than 0 there. */
const OPTIONAL = new Set(['client_connection_check_interval'])
const INVALID_PARAMETER_VALUE = '22023'

/**
 * Makes settings hold for a new connection. They are sent as statements and not with the start of the session,
 * because a pooler such as PgBouncer refuses start parameters that it does not know.
 * @throws database errors; the connection is of no use then
 */
export async function applySettings(client: pg.ClientBase, settings: Settings): Promise<void> {
  const set = (entries: [string, string | number][]) => {
    const calls = entries.map((_, i) => `set_config($${2 * i + 1}, $${2 * i + 2}, false)`)
    return client.query(
      `select ${calls.join(', ')}`,
      entries.flatMap(([name, value]) => [name, String(value)]),
    )
  }
  const all = Object.entries(settings)
  try {
    if (all.length > 0) await set(all)
  } catch (err) {
    const refused = err instanceof Error && 'code' in err && err.code === INVALID_PARAMETER_VALUE
    const needed = all.filter(([name]) => !OPTIONAL.has(name))
    if (!refused || needed.length === all.length) throw err
    await set(needed)
  }
}
