// Parameters that the planner does not look into, so that one plan is kept for all calls of a statement.
import { type RawBuilder, sql } from 'kysely'
import { binaryTexts } from './binaryTexts.ts'

/**
 * SQL: the value of a parameter with its cast, such as `${names}::text[]`. Without it Postgres counts the elements of an array that is
 * given to `unnest`, finds a plan for these few cheaper than the one for the ten that it takes an unknown array for, and so plans a
 * statement anew at each call, which takes longer than to run it. Of a single value it would look up how common it is, with the same end.
 */
export const unseen = (value: RawBuilder<unknown>) => sql`(select ${value})`

/** SQL: a `text[]` of which the planner sees no length. @param texts as `binaryTexts` takes them */
export const unseenTexts = (texts: readonly (string | null)[]) =>
  unseen(sql`${binaryTexts(texts)}::text[]`)
