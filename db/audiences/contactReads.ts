// Reads the contacts of an audience.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'

export type AudienceContactRow = Row<'audience_contacts'>

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
          .where('id', '=', audienceId),
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
    .where('email', '=', sql<string>`any(${[...emails]}::text[])`)
    .execute()
  return new Set(rows.map((row) => row.email))
}
