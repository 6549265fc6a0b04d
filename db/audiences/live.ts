// Whether an audience is not deleted, for statements that read contacts without the row of their audience.
import { type RawBuilder, type SqlBool, sql } from 'kysely'

/** False once it is deleted. Given a column it is one look-up for each row, given a parameter one for the statement. @param id of an audience */
export const isLiveAudience = (id: RawBuilder<unknown>): RawBuilder<SqlBool> =>
  sql<SqlBool>`(select a.deleted_at is null from audiences a where a.id = ${id})`
