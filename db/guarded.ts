// Sends a statement with a guard behind it, which undoes it by failing: one round trip, where a transaction that looks at what it has
// written takes three, and holds its locks while this process is busy with others. It relies on how pg 8 sends a statement; its test
// tells when that changes.
import { CompiledQuery, type QueryResult, type RawBuilder, sql, type Transaction } from 'kysely'
import type pg from 'pg'
import { ExtendedQuery, type PgConnection, type Tell } from './extendedQuery.ts'
import { dataFaultOf } from './failures.ts'

/** invalid_text_representation: a text is no boolean. So a `select` can fail on a condition without a function in the database. */
const REFUSED_CODE = '22P02'

/**
 * SQL, for a guard to select: fails if the condition holds.
 * @param condition SQL of type boolean
 * @param reason what the log of Postgres says then: `invalid input syntax for type boolean: "…"`
 */
export const failIf = (condition: RawBuilder<unknown>, reason: string) =>
  sql`case when ${condition} then ${sql.lit(reason)} else 'true' end::boolean`

/**
 * Whether `failIf` has failed with that reason. The code alone does not tell: the statement before the guard fails with it too where it is
 * given a text that is no number, time or JSON.
 */
export const isRefusedByGuard = (err: unknown, reason: string): boolean =>
  dataFaultOf(err) === REFUSED_CODE && err instanceof Error && err.message.includes(reason)

const isSendable = (value: unknown) =>
  value === null || typeof value === 'string' || Buffer.isBuffer(value)

/** A statement that is sent behind another one. Kysely hands a connection a text and values, so it travels as the last value. */
class Guard {
  readonly text: string
  readonly values: unknown[]
  constructor({ sql: text, parameters }: CompiledQuery) {
    // Found out while messages are written it would leave the connection in the middle of them.
    if (!parameters.every(isSendable)) throw new Error('a guard takes texts, Buffers and null')
    this.text = text
    this.values = [...parameters]
  }
}

/** Parts the values that a connection is given into those of its statement and the guard behind it, if there is one. */
export function splitGuard(values: readonly unknown[]): { own: unknown[]; guard: Guard | null } {
  const last = values.at(-1)
  if (last instanceof Guard) return { own: values.slice(0, -1), guard: last }
  return { own: [...values], guard: null }
}

/**
 * Runs a statement and its guard as one transaction, which is committed if neither fails. The guard has a snapshot of its own, which is
 * taken when the statement has its locks (PostgreSQL documentation, Transaction Isolation, Read Committed), so it sees what was committed
 * while the statement waited for them. It is sent before the statement is answered: what it has to know of that answer the statement
 * leaves in settings of the transaction (`set_config`).
 * @param db a handle without an open transaction, such as `transact.one` gives
 * @param guard its parameters are texts, Buffers and null; its rows are not read
 * @returns the rows of the statement
 * @throws what the statement fails with, or the guard (`isRefusedByGuard`): nothing was written
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
  readonly #guard: pg.QueryConfig
  /** Whether all rows of the statement have come: what comes after them is of the guard. */
  #isAnswered = false
  #notePrepared = () => {}

  constructor(config: pg.QueryConfig, guard: pg.QueryConfig, tell: Tell) {
    super({ ...config, queryMode: 'extended' }, undefined, tell)
    this.#guard = guard
  }

  override _getRows(connection: PgConnection): void {
    const { name = '', text, values = [] } = this.#guard
    this.#notePrepared = () => {
      if (name) connection.parsedStatements[name] = text
    }
    connection.execute({})
    const isPrepared = name !== '' && connection.parsedStatements[name] === text
    if (!isPrepared) {
      // Postgres may have it although we did not note that: the guard was given up before the description came, such as while it was planned.
      connection.close({ type: 'S', name })
      connection.parse({ text, name })
    }
    connection.bind({ statement: name, values })
    // The description comes before the guard runs, so that it is known to be prepared although it fails the first time.
    if (!isPrepared) connection.describe({ type: 'P', name: '' })
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

  override handleCommandComplete(message: unknown, connection: PgConnection): void {
    if (!this.#isAnswered) super.handleCommandComplete(message, connection)
    this.#isAnswered = true
  }
}
