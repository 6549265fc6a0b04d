// What a key that is bound to one domain sees of suppressions that mail of others caused: no id of that mail.
import type { Db } from '../../db/connect.ts'
import { findReachedEmails } from '../../db/emails/reads.ts'
import type { SuppressionRow } from '../../db/suppressions/reads.ts'
import type { Reach } from '../../rules/reach.ts'

/** The suppressions, without the ids of emails that the caller does not reach. */
export async function withReachedSources<T extends SuppressionRow>(
  db: Db,
  reach: Reach,
  rows: T[],
): Promise<T[]> {
  if (reach.domainId === null) return rows
  const ids = rows.flatMap(({ source_id }) => (source_id === null ? [] : [source_id]))
  const reached = await findReachedEmails(db, reach, ids)
  return rows.map((row) =>
    row.source_id === null || reached.has(row.source_id) ? row : { ...row, source_id: null },
  )
}
