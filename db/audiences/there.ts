// Whether an audience is there, for statements that read its contacts without its row: those of a deleted one go afterwards.
import { type RawBuilder, type SqlBool, sql } from 'kysely'

/** Asked of a column, one step into the primary key for each row; of a parameter, one for the statement. @param id of an audience */
export const isAudienceThere = (id: RawBuilder<unknown>): RawBuilder<SqlBool> =>
  sql<SqlBool>`(select a.deleted_at is null from audiences a where a.id = ${id})`
