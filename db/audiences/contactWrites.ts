// Writes the contacts of an audience. The caller holds the audience's lock and updates its counts.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { AudienceContactRow } from './contactReads.ts'

/** Rows as JSON text, so that any number of them is one parameter. */
const toRecords = (rows: AudienceContactRow[]) => JSON.stringify(rows)

/** Inserts contacts of a locked audience in one statement. */
export async function insertAudienceContacts(
  trx: Trx,
  workspaceId: WorkspaceId,
  rows: AudienceContactRow[],
): Promise<void> {
  if (rows.length === 0) return
  const own = rows.map((row) => ({ ...row, workspace_id: workspaceId }))
  await sql`
    insert into audience_contacts
    select * from jsonb_populate_recordset(null::audience_contacts, ${toRecords(own)}::jsonb)
  `.execute(trx)
}

/** Overwrites the changeable columns of contacts of a locked audience in one statement. */
export async function updateAudienceContacts(
  trx: Trx,
  workspaceId: WorkspaceId,
  rows: AudienceContactRow[],
): Promise<void> {
  if (rows.length === 0) return
  await sql`
    update audience_contacts c
    set first_name = n.first_name, last_name = n.last_name, is_subscribed = n.is_subscribed,
      properties = n.properties, updated_at = n.updated_at, leave_copied = n.leave_copied
    from jsonb_populate_recordset(null::audience_contacts, ${toRecords(rows)}::jsonb) n
    where c.workspace_id = ${workspaceId} and c.id = n.id
  `.execute(trx)
}

/** Deletes a contact of a locked audience, by the id of the audience contact. */
export async function deleteAudienceContact(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<void> {
  await trx
    .deleteFrom('audience_contacts')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
}

/** Adds a contact to an audience, unless they are there. @returns undefined if they are */
export async function insertAudienceContactOnce(
  trx: Trx,
  workspaceId: WorkspaceId,
  who: { id: string; audienceId: string; email: string; isSubscribed: boolean; at: Date },
): Promise<{ is_subscribed: boolean } | undefined> {
  const { id, audienceId, email, isSubscribed, at } = who
  return trx
    .insertInto('audience_contacts')
    .values({
      id,
      audience_id: audienceId,
      workspace_id: workspaceId,
      email,
      is_subscribed: isSubscribed,
      properties: '{}',
      created_at: at,
      updated_at: at,
      // The opt-out that makes them unsubscribed is there already.
      leave_copied: isSubscribed ? null : true,
    })
    .onConflict((on) => on.columns(['audience_id', 'email']).doNothing())
    .returning('is_subscribed')
    .executeTakeFirst()
}

/** Removes an address (lower case) from an audience. @returns undefined if it is not there */
export async function deleteAudienceContactOf(
  trx: Trx,
  workspaceId: WorkspaceId,
  { audienceId, email }: { audienceId: string; email: string },
): Promise<{ is_subscribed: boolean } | undefined> {
  return trx
    .deleteFrom('audience_contacts')
    .where('workspace_id', '=', workspaceId)
    .where('audience_id', '=', audienceId)
    .where('email', '=', email)
    .returning('is_subscribed')
    .executeTakeFirst()
}
