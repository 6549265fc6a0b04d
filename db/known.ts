// Finds which of the ids that a design writes exist in its workspace.
import { sql } from 'kysely'
import type { WorkspaceId } from '../rules/ids.ts'
import type { Db } from './connect.ts'

/** Where each kind stands; an archived workflow is none any more, nor is a deleted audience. */
const kinds = {
  audience: { table: 'audiences', column: 'id', only: sql`deleted_at is null` },
  segment: { table: 'segments', column: 'id', only: sql`true` },
  workflow: { table: 'workflows', column: 'id', only: sql`archived_at is null` },
} as const

/** Those of these ids that the workspace has. */
export async function findKnown(
  db: Db,
  workspaceId: WorkspaceId,
  kind: keyof typeof kinds,
  names: readonly string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set()
  const { table, column, only } = kinds[kind]
  const { rows } = await sql<{ name: string }>`
    select ${sql.ref(column)} as name from ${sql.table(table)}
    where workspace_id = ${workspaceId} and ${sql.ref(column)} = any(${names}::text[]) and ${only}
  `.execute(db)
  return new Set(rows.map(({ name }) => name))
}
