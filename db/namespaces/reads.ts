// Reads what workers know of a namespace of Temporal.
import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'

export type NamespaceRow = Row<'temporal_namespaces'>

/** undefined: no worker has looked at it yet. */
export function findNamespace(db: Db, name: string): Promise<NamespaceRow | undefined> {
  return db
    .selectFrom('temporal_namespaces')
    .selectAll()
    .where('name', '=', name)
    .executeTakeFirst()
}
