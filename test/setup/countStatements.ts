// Counts the statements that code under test sends.
import type { Db } from '../../db/connect.ts'

/** A handle of the same database, and a list that gets one entry for each statement that it sends, without begin and commit. */
export function countStatements(db: Db): { db: Db; sent: string[] } {
  const sent: string[] = []
  const counted = db.withPlugin({
    transformQuery: ({ node }) => node,
    // A prepared statement is no query when it is sent.
    async transformResult({ result }) {
      sent.push('statement')
      return result
    },
  })
  return { sent, db: counted }
}
