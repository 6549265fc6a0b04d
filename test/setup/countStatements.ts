// Counts the statements that Postgres has answered for code under test.
import type { Db } from '../../db/connect.ts'

/**
 * A handle of the same database, and how many statements it has asked that were answered: without those that failed, guards, begin
 * and commit.
 */
export function countStatements(db: Db): { db: Db; count: () => number } {
  let answered = 0
  const counted = db.withPlugin({
    transformQuery: ({ node }) => node,
    // Counted by their results: kysely shows a plugin no query that was compiled before, as prepared ones are.
    async transformResult({ result }) {
      answered += 1
      return result
    },
  })
  return { db: counted, count: () => answered }
}
