// Reads what direct delivery has learned about the domains of recipients. They belong to no workspace.

import type { Db } from '../connect.ts'

/** Since when the DNS says that these domains do not exist. Those that exist, or are not known, are left out. */
export async function listUnknownSince(
  db: Db,
  domains: readonly string[],
): Promise<Map<string, Date>> {
  const rows = await db
    .selectFrom('recipient_domains')
    .select(['domain', 'nx_since'])
    .where('domain', 'in', domains)
    .where('nx_since', 'is not', null)
    .execute()
  return new Map(rows.flatMap(({ domain, nx_since }) => (nx_since ? [[domain, nx_since]] : [])))
}
