// What pg 8 has of a connection and of a statement, and its types do not show.
import pg from 'pg'

/** A connection of pg, to which messages of the extended protocol are written (PostgreSQL documentation, Message Formats). */
export interface Wire {
  /** The texts of prepared statements, by their names. */
  parsedStatements: Record<string, string | undefined>
  parse(config: { text: string; name: string }): void
  /** Of a prepared statement. */
  close(config: { type: 'S'; name: string }): void
  bind(config: {
    statement: string
    values?: readonly unknown[]
    valueMapper?: (value: unknown) => unknown
  }): void
  describe(config: { type: 'P'; name: string }): void
  execute(config: object): void
  sync(): void
}

export type Tell = (err: Error | null, result: pg.QueryResult) => void

interface ExtendedQuery extends pg.Submittable {
  /** Sends all messages of a statement. */
  prepare(connection: Wire): void
  /** Sends what follows the Bind and the Describe: the Execute and the Sync. */
  _getRows(connection: Wire, rows: number | undefined): void
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Wire): void
}

/** A statement of pg that is sent by the extended protocol. */
export const ExtendedQuery = pg.Query as unknown as new (
  config: pg.QueryConfig & { queryMode: 'extended' },
  values: undefined,
  tell: Tell,
) => ExtendedQuery
