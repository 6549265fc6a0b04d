// A database handle that notes the queries it sends.
import { type CompiledQuery, Kysely, PostgresDialect, type PostgresPool } from 'kysely'
import type { Db } from '../../db/connect.ts'
import type { Database } from '../../db/schema.ts'

/**
 * A handle over the pool, and the queries that it has sent, those of transactions and settings too: each once it was answered or failed. A
 * test may empty the list. `captureSql` runs none, and `countStatements` counts alone.
 */
export function noteQueries(pool: PostgresPool): { db: Db; asked: CompiledQuery[] } {
  const asked: CompiledQuery[] = []
  const db = new Kysely<Database>({
    dialect: new PostgresDialect({ pool }),
    log: ({ query }) => void asked.push(query),
  })
  return { db, asked }
}
