// Reads the contacts of an audience. One that is deleted has none, though their rows go afterwards.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import type { JsonObject, Row } from '../schema.ts'
import { isLiveAudience } from './live.ts'

export type AudienceContactRow = Row<'audience_contacts'>

/** Without its properties, of which one contact may have 256 KiB. */
export type AudienceContactFields = Omit<AudienceContactRow, 'properties'>

/** A page of an audience's contacts after the address `after`, by address. */
export function listAudienceContacts(
  db: Db,
  workspaceId: WorkspaceId,
  audienceId: string,
  page: { after: string | null; limit: number },
): Promise<AudienceContactRow[]> {
  return (
    db
      .selectFrom('audience_contacts')
      .selectAll()
      // The workspace is checked through the audience: a plain condition on workspace_id can make the planner
      // choose the wrong index.
      .where('audience_id', '=', (eb) =>
        eb
          .selectFrom('audiences')
          .select('id')
          .where('workspace_id', '=', workspaceId)
          .where('id', '=', audienceId)
          .where('deleted_at', 'is', null),
      )
      .$if(page.after !== null, (qb) => qb.where('email', '>', page.after as string))
      .orderBy('email')
      .limit(page.limit)
      .execute()
  )
}

/** The ids of the audiences that an address (lower case) is subscribed to, in order. */
export async function listAudiencesOf(
  db: Db,
  workspaceId: WorkspaceId,
  email: string,
): Promise<string[]> {
  const rows = await db
    .selectFrom('audience_contacts')
    .select('audience_id')
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', email)
    .where('is_subscribed', '=', true)
    .where(isLiveAudience(sql.ref('audience_contacts.audience_id')))
    .orderBy('audience_id')
    .execute()
  return rows.map((row) => row.audience_id)
}

/** Which of these addresses (lower case) the audience has now. It locks nothing: nodes of workflows add and remove contacts beside this. */
export async function findAudienceEmails(
  db: Db,
  workspaceId: WorkspaceId,
  audienceId: string,
  emails: readonly string[],
): Promise<Set<string>> {
  const rows = await db
    .selectFrom('audience_contacts')
    .select('email')
    .where('workspace_id', '=', workspaceId)
    .where('audience_id', '=', audienceId)
    .where(isLiveAudience(sql.val(audienceId)))
    .where('email', '=', sql<string>`any(${[...emails]}::text[])`)
    .execute()
  return new Set(rows.map((row) => row.email))
}

/** How many bytes the properties of audience contacts take as JSON, by their ids. */
export async function listPropertiesBytes(
  db: Db,
  workspaceId: WorkspaceId,
  ids: readonly string[],
): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ id: string; bytes: number }>`
    select id, octet_length(properties::text) as bytes from audience_contacts
    where workspace_id = ${workspaceId} and id = any(${[...ids]}::text[])
  `.execute(db)
  return new Map(rows.map(({ id, bytes }) => [id, bytes]))
}

/** The properties of audience contacts, by their ids. */
export async function findAudienceContactProperties(
  db: Db,
  workspaceId: WorkspaceId,
  ids: readonly string[],
): Promise<Map<string, JsonObject>> {
  const rows = await db
    .selectFrom('audience_contacts')
    .select(['id', 'properties'])
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', sql<string>`any(${[...ids]}::text[])`)
    .execute()
  return new Map(rows.map(({ id, properties }) => [id, properties]))
}
