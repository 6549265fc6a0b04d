// Sends the begin of a transaction together with its first statement: each transaction has one round trip less.
// It relies on how pg 8 sends a statement; its test tells when that changes.
import type pg from 'pg'
import { ExtendedQuery, type Tell, type Wire } from './extendedQuery.ts'
import { type Guard, GuardedQuery } from './guarded.ts'

/** The prepared statement of each connection, by its name and its text. */
const BEGIN = 'begin'

/**
 * The first statement of a transaction, behind its begin. Both end with one Sync: were the begin refused, Postgres would pass over
 * the statement too, and never run it outside of a transaction (PostgreSQL documentation, Extended Query, Pipelining).
 */
class FirstQuery extends ExtendedQuery {
  #hasBegun = false

  override prepare(connection: Wire): void {
    connection.bind({ statement: BEGIN })
    connection.execute({})
    super.prepare(connection)
  }

  override handleCommandComplete(message: unknown, connection: Wire): void {
    if (this.#hasBegun) super.handleCommandComplete(message, connection)
    else this.#hasBegun = true
  }
}

/** An answer to what was not sent. */
export const NOTHING = { command: '', rowCount: 0, oid: 0, rows: [], fields: [] }

/** Whether a connection has begun a transaction before, and so can send the begin of the next one with its first statement. */
const canBeginLater = (client: pg.ClientBase): boolean =>
  (client as unknown as { connection: Wire }).connection.parsedStatements[BEGIN] === BEGIN

/** The begin of the first transaction of a connection, which prepares it. */
const beginNow: pg.QueryConfig = { text: BEGIN, name: BEGIN }

/** Makes the function that asks statements of a connection while it is lent. A begin waits for the statement behind it. */
export function createAsk(client: pg.ClientBase) {
  let begins = false
  return async (config: pg.QueryConfig, guard?: Guard): Promise<pg.QueryResult> => {
    if (guard) {
      return answerOf(client, (tell) => new GuardedQuery(config, guard, tell))
    }
    if (config.text === BEGIN) {
      begins = canBeginLater(client)
      return begins ? NOTHING : answerOf(client, beginNow)
    }
    const isFirst = begins
    begins = false
    if (isFirst && (config.text === 'commit' || config.text === 'rollback')) return NOTHING
    return answerOf(
      client,
      isFirst
        ? (tell) => new FirstQuery({ ...config, queryMode: 'extended' }, undefined, tell)
        : config,
    )
  }
}

/**
 * Sends a statement. It is asked of pg with a callback: the promises that pg makes itself keep the rows of a statement that is
 * done until the next full collection, so each small collection copied all rows that were read since the one before.
 */
function answerOf(
  client: pg.ClientBase,
  asked: pg.QueryConfig | ((tell: Tell) => pg.Submittable),
): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const tell: Tell = (err, result) => {
      if (err) reject(err)
      else resolve(result)
    }
    if (typeof asked === 'function') void client.query(asked(tell))
    else void client.query(asked, tell)
  })
}
