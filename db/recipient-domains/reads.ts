// Reads what direct delivery has learned about the domains of recipients. They belong to no workspace.

import type { Missing } from '../../rules/mail/recipientDomains.ts'
import type { Db } from '../connect.ts'

/** Since when, and when last, the DNS did not know these domains. Those that exist, or are not known, are left out. */
export async function listMissingDomains(
  db: Db,
  domains: readonly string[],
): Promise<Map<string, Missing>> {
  const rows = await db
    .selectFrom('recipient_domains')
    .select(['domain', 'nx_since', 'looked_up_at'])
    .where('domain', 'in', domains)
    .where('nx_since', 'is not', null)
    .execute()
  return new Map(
    rows.flatMap(({ domain, nx_since, looked_up_at }) =>
      nx_since ? [[domain, { since: nx_since, lastAt: looked_up_at }]] : [],
    ),
  )
}
