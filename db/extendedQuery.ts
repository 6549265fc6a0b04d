// What pg 8 has of a connection and of a statement, and its types do not show.
import pg from 'pg'

/** A connection of pg, to which messages of the extended protocol are written (PostgreSQL documentation, Message Formats). */
export interface PgConnection {
  /** The texts of prepared statements, by their names. */
  parsedStatements: Record<string, string | undefined>
  parse(config: { text: string; name: string }): void
  /** Drops a prepared statement (`S`); where there is none of that name Postgres does nothing. */
  close(config: { type: 'S'; name: string }): void
  /** Sends texts, Buffers and null as they are. `statement` `''` is the one that was parsed last without a name. */
  bind(config: { statement: string; values?: readonly unknown[] }): void
  /** Asks for the columns of a portal (`P`); `name` `''` is that of the Bind before. */
  describe(config: { type: 'P'; name: string }): void
  execute(config: object): void
  sync(): void
}

/** The callback of a statement: what it failed with, or null and its result. */
export type Tell = (err: Error | null, result: pg.QueryResult) => void

interface ExtendedQuery extends pg.Submittable {
  /** Sends all messages of a statement. */
  prepare(connection: PgConnection): void
  /** Sends what follows the Bind and the Describe: the Execute and the Sync. */
  _getRows(connection: PgConnection, rows: number | undefined): void
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: PgConnection): void
}

/** A statement of pg that is sent by the extended protocol. */
export const ExtendedQuery = pg.Query as unknown as new (
  config: pg.QueryConfig & { queryMode: 'extended' },
  values: undefined,
  tell: Tell,
) => ExtendedQuery
