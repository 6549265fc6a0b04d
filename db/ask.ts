// Asks statements of one connection: as they are, behind the begin of their transaction, or with a guard behind them.
import type pg from 'pg'
import { BEGIN, beginNow, canBeginLater, FirstQuery } from './begin.ts'
import type { Tell } from './extendedQuery.ts'
import { GuardedQuery } from './guarded.ts'

/** An answer to what was not sent. */
export const NOTHING = { command: '', rowCount: 0, oid: 0, rows: [], fields: [] }

/**
 * Makes the function that asks statements of a connection while it is lent. A begin waits for the statement behind it.
 * The function takes a statement, and the guard behind it or null; a statement with a guard is asked outside of transactions.
 */
export function createAsk(client: pg.ClientBase) {
  let begins = false
  return async (config: pg.QueryConfig, guard: pg.QueryConfig | null): Promise<pg.QueryResult> => {
    if (guard) return answerOf(client, (tell) => new GuardedQuery(config, guard, tell))
    if (config.text === BEGIN) {
      begins = canBeginLater(client)
      return begins ? NOTHING : answerOf(client, beginNow)
    }
    const isFirst = begins
    begins = false
    if (isFirst && (config.text === 'commit' || config.text === 'rollback')) return NOTHING
    return answerOf(client, isFirst ? (tell) => new FirstQuery(config, tell) : config)
  }
}

/**
 * Sends a statement. It is asked of pg with a callback: the promises that pg makes itself keep the rows of a statement that is
 * done until the next full collection, so each small collection copied all rows that were read since the one before.
 * @param asked what pg sends in its own way, or makes a statement that sends itself and tells its answer
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
