// The SQL condition for an execution that has not ended.

import { type SqlBool, sql } from 'kysely'

/**
 * Postgres stores only end states (`EndedStatus` of rules/states.ts): a row without one has not ended. The partial
 * indexes of `executions` use exactly this condition.
 * @param alias of `executions` in the query; absent: the only table with that column
 */
export const isLive = (alias?: string) => sql<SqlBool>`${endedStatus(alias)} is null`

const endedStatus = (alias?: string) =>
  sql.ref(alias === undefined ? 'ended_status' : `${alias}.ended_status`)

/**
 * The same for rows that are found by their ids, or by all of a contact's: no partial index is taken for it. A plan that is made once, while
 * the tables are empty, would read the index of all that is live.
 */
export const isFoundLive = (alias?: string) =>
  sql<SqlBool>`coalesce(${endedStatus(alias)}, '') = ''`
