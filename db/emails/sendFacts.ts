// Reads everything that accepting emails needs, in one round trip for a group.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import { type SendingDomain, trackingHost } from '../domains/sending.ts'

export interface AskedSendFacts {
  /** The name of the sending domain. */
  domainName: string
  /** Of the recipients, in lower case. */
  addresses: string[]
}

export interface SendFacts {
  /** The workspace's domain of that name. */
  domain: SendingDomain | null
  /** Those of the addresses that are automation contacts, in the order of the contacts' ids. */
  contactEmails: string[]
}

/** @returns the facts of each, in order */
export async function listSendFacts(
  db: Db,
  workspaceId: WorkspaceId,
  asked: AskedSendFacts[],
): Promise<SendFacts[]> {
  const given = asked.map(({ domainName, addresses }, place) => ({ place, domainName, addresses }))
  const { rows } = await sql<Partial<SendingDomain> & { contact_emails: string[] }>`
    with asked as (
      select * from jsonb_to_recordset(${JSON.stringify(given)}::jsonb)
        as a (place integer, "domainName" text, addresses text[])
    )
    select d.id, d.status, d.open_tracking_enabled, d.click_tracking_enabled, ${trackingHost} as tracking_host, array(
      select c.email from contacts c
      where c.workspace_id = ${workspaceId} and c.email = any(a.addresses)
      order by c.id
    ) as contact_emails
    from asked a
    left join domains d on d.workspace_id = ${workspaceId} and d.name = a."domainName"
      and d.deleted_at is null
    order by a.place
  `.execute(db)
  return rows.map(({ contact_emails: contactEmails, ...domain }) => ({
    domain: domain.id ? (domain as SendingDomain) : null,
    contactEmails,
  }))
}
