// Sends the begin of a transaction together with its first statement: each transaction has one round trip less.
// It relies on how pg 8 sends a statement; its test tells when that changes.
import type pg from 'pg'
import { ExtendedQuery, type PgConnection, type Tell } from './extendedQuery.ts'

/** The prepared statement of each connection, by its name and its text. */
export const BEGIN = 'begin'

/**
 * The first statement of a transaction, behind its begin. Both end with one Sync: were the begin refused, Postgres would pass over
 * the statement too, and never run it outside of a transaction (PostgreSQL documentation, Extended Query, Pipelining).
 */
export class FirstQuery extends ExtendedQuery {
  #hasBegun = false

  constructor(config: pg.QueryConfig, tell: Tell) {
    super({ ...config, queryMode: 'extended' }, undefined, tell)
  }

  override prepare(connection: PgConnection): void {
    connection.bind({ statement: BEGIN })
    connection.execute({})
    super.prepare(connection)
  }

  override handleCommandComplete(message: unknown, connection: PgConnection): void {
    if (this.#hasBegun) super.handleCommandComplete(message, connection)
    else this.#hasBegun = true
  }
}

/** Whether a connection has begun a transaction before, and so can send the begin of the next one with its first statement. */
export const canBeginLater = (client: pg.ClientBase): boolean =>
  (client as unknown as { connection: PgConnection }).connection.parsedStatements[BEGIN] === BEGIN

/** The begin of the first transaction of a connection, which prepares it. */
export const beginNow: pg.QueryConfig = { text: BEGIN, name: BEGIN }
