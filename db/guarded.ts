// Sends a statement with a guard behind it, which undoes it by failing: one round trip, where a transaction that looks at what it has
// written takes three, and holds its locks while this process is busy with others. It relies on how pg 8 sends a statement; its test
// tells when that changes.
import { CompiledQuery, type QueryResult, type Transaction } from 'kysely'
import type pg from 'pg'
import { ExtendedQuery, type Tell, type Wire } from './extendedQuery.ts'

/** The last parameter of a statement that has a guard. */
export class Guard {
  readonly text: string
  readonly values: readonly unknown[]
  /** Of the prepared statement; undefined: it is planned at each call. */
  name: string | undefined
  constructor({ sql, parameters }: CompiledQuery) {
    this.text = sql
    this.values = parameters
  }
}

/**
 * Runs a statement and its guard as one transaction, which is committed if neither fails. The guard has a snapshot of its own, which is
 * taken when the statement has its locks (PostgreSQL documentation, Transaction Isolation, Read Committed). Its rows are not read. It
 * takes texts, Buffers and null.
 * @param db no open transaction
 */
export const executeGuarded = <Row>(
  db: Pick<Transaction<unknown>, 'executeQuery'>,
  statement: CompiledQuery<Row>,
  guard: CompiledQuery,
): Promise<QueryResult<Row>> =>
  db.executeQuery<Row>(
    CompiledQuery.raw(statement.sql, [...statement.parameters, new Guard(guard)]),
  )

/** Both end with one Sync, so Postgres commits both or neither (PostgreSQL documentation, Extended Query, Pipelining). */
export class GuardedQuery extends ExtendedQuery {
  readonly #guard: Guard
  #isAnswered = false
  #notePrepared = () => {}

  constructor(config: pg.QueryConfig, guard: Guard, tell: Tell) {
    super({ ...config, queryMode: 'extended' }, undefined, tell)
    this.#guard = guard
  }

  override _getRows(connection: Wire): void {
    const { name = '', text, values } = this.#guard
    this.#notePrepared = () => {
      if (name) connection.parsedStatements[name] = text
    }
    connection.execute({})
    const isKnown = name !== '' && connection.parsedStatements[name] === text
    if (!isKnown) {
      // It may be prepared there: where it was given up before the answer that says so, such as while it was planned.
      connection.close({ type: 'S', name })
      connection.parse({ text, name })
    }
    connection.bind({ statement: name, values, valueMapper: (value) => value })
    // Its answer says that Postgres has prepared it, also where it fails then.
    if (!isKnown) connection.describe({ type: 'P', name: '' })
    connection.execute({})
    connection.sync()
  }

  override handleRowDescription(message: unknown): void {
    if (this.#isAnswered) this.#notePrepared()
    else super.handleRowDescription(message)
  }

  override handleDataRow(message: unknown): void {
    if (!this.#isAnswered) super.handleDataRow(message)
  }

  override handleCommandComplete(message: unknown, connection: Wire): void {
    if (!this.#isAnswered) super.handleCommandComplete(message, connection)
    this.#isAnswered = true
  }
}
