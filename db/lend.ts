// Lends the pool's connections: each counts in the share of its owner, and is hung up when its client has gone.
import type { Socket } from 'node:net'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { toParameter } from './arrayParameters.ts'
import { createAsk, NOTHING } from './ask.ts'
import { busyReason, isUnavailable } from './failures.ts'
import { splitGuard } from './guarded.ts'
import { currentScope, type Running } from './scope.ts'
import { ClientGone, type Shares } from './shares.ts'
import { createStatementNames } from './statementNames.ts'

/**
 * How long the work of a client that has gone may go on. Most of it ends by itself within that time, and a new
 * connection costs more than its rest.
 */
const GRACE_MS = 500
/** A backend that was hung up on ends when it looks for its client. After this time we no longer wait for that. */
const HANG_UP_MS = 5_000

/** What pg keeps of a connection and its types do not show. */
interface Wire {
  connection: { end(): void; once(event: 'end', tell: () => void): void; stream: Socket }
}

/** The socket of a connection; with TLS the one that encrypts. */
export const streamOf = (client: pg.ClientBase): Socket =>
  (client as unknown as Wire).connection.stream

/** The errors by which connections broke while no statement was running, such as a time-out of Postgres. */
const breakages = new WeakMap<object, Error>()

/** Notes why a connection breaks. Without a listener such an error would end the process. */
export function noteBreakage(client: pg.ClientBase): void {
  client.on('error', (err) => {
    // Further ones only say that the connection has ended.
    if (!breakages.has(client)) breakages.set(client, err)
  })
}

/** Codes with which Postgres ends a connection, in whatever language it says how severe that is: of class 57, and 25P03, 25P04. */
const ENDING_CODES = /^(57P0.|25P0[34])$/

/**
 * Whether Postgres ends the connection with this error. The pool learns of it with the end of the socket, and would lend the
 * connection to the next statement until then.
 */
const endsConnection = (err: unknown): boolean =>
  err instanceof pg.DatabaseError &&
  (err.severity === 'FATAL' || err.severity === 'PANIC' || ENDING_CODES.test(err.code ?? ''))

/**
 * The error that whoever asked is told. One with which Postgres ended the connection says so, unless its code says how busy Postgres
 * was; where the connection broke before the statement was sent, pg has given its reason to the listener.
 */
function failureOf(client: pg.ClientBase, err: unknown): unknown {
  if (endsConnection(err) && !isUnavailable(err) && !busyReason(err)) {
    return new Error('Connection terminated by Postgres', { cause: err })
  }
  const isOfPostgres = err instanceof Error && 'code' in err
  return isOfPostgres ? err : (breakages.get(client) ?? err)
}

/**
 * Tells Postgres that we leave and closes our side of the socket alone: what the running statement still answers is
 * read, so it is known whether it was committed. A cancel request is not used, because it may arrive after the
 * statement has ended and hit the next one. Resolves when the backend has closed its side, so whoever counts
 * connections counts those that still wait in Postgres; at once for a connection that has ended already, which tells
 * nothing any more.
 */
function hangUp(client: pg.ClientBase): Promise<void> {
  const { connection } = client as unknown as Wire
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      connection.stream.destroy()
      done()
    }, HANG_UP_MS)
    connection.once('end', done)
    if (connection.stream.destroyed) done()
    else connection.end()
  })
}

/** One connection from when it is taken until it is given back. */
function lend(
  client: pg.PoolClient,
  scope: Running,
  nameOf: (text: string) => string | undefined,
  giveBack: () => void,
): PostgresPoolClient {
  let began = false
  const ask = createAsk(client)
  let committing = false
  let ending: Promise<void> | undefined
  let endedByPostgres = false
  let grace: NodeJS.Timeout | undefined
  const { signal } = scope
  const named = (text: string, own: unknown[]): pg.QueryConfig => {
    const name = nameOf(text)
    return { text, values: own.map(toParameter), ...(name ? { name } : {}) }
  }
  const leave = () => {
    // Once COMMIT was sent there is nothing to save: the transaction ends by itself in a moment.
    if (!committing) ending = hangUp(client)
  }
  const onAbort = () => {
    grace = setTimeout(leave, GRACE_MS)
  }
  signal?.addEventListener('abort', onAbort)

  const query: unknown = async (text: string, values: readonly unknown[]) => {
    // Postgres rolls back by itself, and kysely would report a failure of this in place of the first one.
    if (text === 'rollback' && (ending || endedByPostgres)) return NOTHING
    if (ending) throw new ClientGone('the client has gone')
    if (text === 'begin') {
      began = scope.inTransaction = true
      scope.connection = lent
    }
    if (text === 'commit') committing = true
    const { own, guard } = splitGuard(values)
    if (guard && began) throw new Error('a statement with a guard is a transaction of its own')
    try {
      return await ask(named(text, own), guard && named(guard.text, guard.values))
    } catch (err) {
      endedByPostgres ||= endsConnection(err)
      if (ending) throw new ClientGone('the client has gone', { cause: err })
      throw failureOf(client, err)
    }
  }
  const release = () => {
    clearTimeout(grace)
    signal?.removeEventListener('abort', onAbort)
    if (began) {
      scope.inTransaction = false
      scope.connection = null
    }
    client.release(ending !== undefined || endedByPostgres)
    if (ending) void ending.then(giveBack)
    else giveBack()
  }
  const lent: PostgresPoolClient = { query: query as PostgresPoolClient['query'], release }
  return lent
}

/**
 * Wraps a pool for kysely.
 * @param shares of as many places as the pool has connections; null: nobody shares it
 */
export function lendFrom(pool: pg.Pool, shares: Shares | null): PostgresPool {
  const nameOf = createStatementNames()
  return {
    async connect() {
      const scope = currentScope()
      // What is read for the answer is read in the transaction that waits for it.
      const { connection, answering } = scope
      if (connection && answering) return { query: connection.query, release: () => undefined }
      // It would hold one connection and wait for another one. When all of a share is held like that, nobody in it
      // ever gets the second one.
      if (scope.inTransaction) throw new Error('a transaction is open here: use it')
      const giveBack = shares ? await shares.take(scope.owner, scope.signal) : () => undefined
      const client = await pool.connect().catch((err: unknown) => {
        giveBack()
        throw err
      })
      const lent = lend(client, scope, nameOf, giveBack)
      if (!scope.signal?.aborted) return lent
      lent.release()
      throw new ClientGone('the client went away while the connection was made')
    },
    end: () => pool.end(),
  }
}
