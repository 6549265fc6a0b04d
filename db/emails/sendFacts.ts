// Reads everything that accepting emails needs, in one round trip for a group, or looks whether it is still so.

import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { binaryTexts } from '../binaryTexts.ts'
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

/** What must be true for emails that were made without asking to be written. */
export interface SendPrecondition {
  /** As they were read; one that was read again meanwhile may be here twice, and then nothing is written. */
  domains: readonly SendingDomain[]
  /** Recipients of mail that is sent at once, in lower case: none may be an automation contact. */
  addresses: readonly string[]
}

/** SQL: the columns of `SendingDomain` of a domain `d`. */
const settings = sql`d.id, d.status, d.open_tracking_enabled, d.click_tracking_enabled, ${trackingHost} as tracking_host`

/**
 * SQL: the workspace's automation contacts among addresses in lower case. They are read in the order of the index on their addresses, so no other
 * one serves, however few of them there were when the statement was planned.
 */
const contactsAmong = (workspaceId: WorkspaceId, addresses: readonly string[]) => sql`
      select id, email from contacts
      where workspace_id = ${workspaceId} and email = any(${binaryTexts(addresses)}::text[]) order by email`

/**
 * SQL: whether each domain is there with these settings, and none of the addresses is an automation contact. Nothing is locked: it is so as of the
 * snapshot of the statement. A domain is found by its id alone and then compared with its workspace, since Postgres would look among all of the
 * workspace; the contacts are rows of a `from`, so that they keep their order and with it their index.
 */
export function preconditionHolds(
  workspaceId: WorkspaceId,
  { domains, addresses }: SendPrecondition,
): RawBuilder<SqlBool> {
  const owned = domains.map((one) => ({ ...one, workspace_id: workspaceId, deleted_at: null }))
  return sql`not exists (
      select from jsonb_array_elements(${JSON.stringify(owned)}::jsonb) as given(domain)
      where given.domain is distinct from (
        select to_jsonb(found) from (
          select ${settings}, d.workspace_id, d.deleted_at from domains d where d.id = given.domain ->> 'id'
        ) found
      )
    ) and not exists (select from (${contactsAmong(workspaceId, addresses)}) contact)`
}

/**
 * Each domain and each contact is looked for once, however many of them ask: for a hundred emails a look-up of each took Postgres ten
 * times as long.
 * @returns the facts of each, in order
 */
export async function listSendFacts(
  db: Db,
  workspaceId: WorkspaceId,
  asked: readonly AskedSendFacts[],
): Promise<SendFacts[]> {
  const names = [...new Set(asked.map(({ domainName }) => domainName))]
  const all = [...new Set(asked.flatMap(({ addresses }) => addresses))]
  const { rows } = await sql<{ domains: NamedDomain[]; contact_emails: string[] }>`
    with domain as (
      select d.name, ${settings}
      from domains d
      where d.workspace_id = ${workspaceId} and d.name = any(${names}::text[]) and d.deleted_at is null
    ), contact as materialized (${contactsAmong(workspaceId, all)}
    )
    select coalesce((select json_agg(domain) from domain), '[]') as domains, array(
      select c.email from contact c order by c.id
    ) as contact_emails
  `.execute(db)
  const domains = new Map(rows[0]?.domains.map(({ name, ...domain }) => [name, domain]))
  const places = new Map(rows[0]?.contact_emails.map((email, place) => [email, place]))
  return asked.map(({ domainName, addresses }) => ({
    domain: domains.get(domainName) ?? null,
    contactEmails: inOrder(addresses, places),
  }))
}

type NamedDomain = SendingDomain & { name: string }

/** Those of the addresses that have a place, by their places. */
function inOrder(addresses: readonly string[], places: ReadonlyMap<string, number>): string[] {
  if (places.size === 0) return []
  const found = [...new Set(addresses)].filter((one) => places.has(one))
  return found.sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0))
}
