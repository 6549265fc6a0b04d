// Reads everything that accepting an email needs, in one round trip.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import { type SendingDomain, trackingHost } from '../domains/sending.ts'

/** Finds the workspace's domain of that name, and which of the addresses (lower case) are automation contacts. */
export async function findSendFacts(
  db: Db,
  workspaceId: WorkspaceId,
  domainName: string,
  addresses: string[],
): Promise<{ domain: SendingDomain | null; contactEmails: string[] }> {
  const { rows } = await sql<Partial<SendingDomain> & { contact_emails: string[] }>`
    select d.id, d.status, d.open_tracking_enabled, d.click_tracking_enabled, ${trackingHost} as tracking_host, array(
      select c.email from contacts c
      where c.workspace_id = ${workspaceId} and c.email = any(${addresses}::text[])
      order by c.id
    ) as contact_emails
    from (values (1)) as one
    left join domains d on d.workspace_id = ${workspaceId} and d.name = ${domainName}
      and d.deleted_at is null
  `.execute(db)
  const found = rows[0]
  if (!found) return { domain: null, contactEmails: [] }
  const { contact_emails: contactEmails, ...domain } = found
  return { domain: domain.id ? (domain as SendingDomain) : null, contactEmails }
}
