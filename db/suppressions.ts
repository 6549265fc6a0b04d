// Queries over addresses that a workspace no longer writes to; kept in lower case.
import { sql } from 'kysely'
import type { Db } from './connect.ts'

/** Those of the addresses (lower case) that are suppressed at this moment. */
export async function listSuppressed(
  db: Db,
  workspaceId: string,
  emails: string[],
  now: Date,
): Promise<Set<string>> {
  if (emails.length === 0) return new Set()
  const rows = await db
    .selectFrom('suppressions')
    .select('email')
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`email = any(${emails}::text[])`)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .execute()
  return new Set(rows.map((row) => row.email))
}
