// Records the statements that a piece of the API sends to Postgres, with their parameters and what they gave.
import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import type { Db } from '../db/connect.ts'
import type { Database } from '../db/schema.ts'

export interface CapturedStatement {
  text: string
  values: readonly unknown[]
  rows: Record<string, unknown>[]
}

/** What went over one connection between its being taken from the pool and given back. */
export type CapturedSession = CapturedStatement[]

/** A handle that works like `connect`'s over this pool and writes down everything that passes. */
export function createCapture(pool: pg.Pool): { db: Db; sessions: CapturedSession[] } {
  const sessions: CapturedSession[] = []
  const dialect = new PostgresDialect({
    pool: {
      async connect() {
        const client = await pool.connect()
        const session: CapturedSession = []
        sessions.push(session)
        const query = async (text: string, values: readonly unknown[]) => {
          const result = await client.query<Record<string, unknown>>(text, [...(values ?? [])])
          session.push({ text, values: values ?? [], rows: result.rows })
          return result
        }
        return { query: query as never, release: () => client.release() }
      },
      end: async () => undefined,
    },
  })
  return { db: new Kysely<Database>({ dialect }), sessions }
}
