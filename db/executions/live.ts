// What a live execution is, as a condition of a query.

import { type SqlBool, sql } from 'kysely'

/**
 * Only the states of `EndedStatus` (rules/states.ts) are stored, so that a row without one has not ended. The partial
 * indexes of `executions` have these very words.
 * @param alias of `executions` in the query; absent: the only table with that column
 */
export const isLive = (alias?: string) =>
  sql<SqlBool>`${sql.ref(alias === undefined ? 'ended_status' : `${alias}.ended_status`)} is null`
