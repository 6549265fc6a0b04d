// Writes the contacts of an audience. The caller updates its counts by what was written: nodes write beside whoever holds the audience's lock.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { JsonObject } from '../schema.ts'
import type { AudienceContactFields, AudienceContactRow } from './contactReads.ts'

/** A contact to write; `properties` null: they stay as they are. */
export type ChangedAudienceContact = AudienceContactFields & { properties: JsonObject | null }

/** Rows as JSON text, so that any number of them is one parameter. */
const toRecords = (rows: readonly ChangedAudienceContact[]) => JSON.stringify(rows)

/**
 * Locks the audience's contacts with these addresses (lower case), in the order of their addresses, and waits for nodes that change
 * them. Whoever locks automation contacts too does so before (order of locks: `transact`).
 */
export function lockAudienceContacts(
  trx: Trx,
  workspaceId: WorkspaceId,
  audienceId: string,
  emails: readonly string[],
): Promise<AudienceContactFields[]> {
  return trx
    .selectFrom('audience_contacts')
    .select(['id', 'audience_id', 'workspace_id', 'email', 'first_name', 'last_name'])
    .select(['is_subscribed', 'leave_copied', 'created_at', 'updated_at'])
    .where('workspace_id', '=', workspaceId)
    .where('audience_id', '=', audienceId)
    .where('email', '=', sql<string>`any(${[...emails]}::text[])`)
    .orderBy('email')
    .forNoKeyUpdate()
    .execute()
}

/**
 * Inserts contacts of a locked audience in one statement, and passes over those that a node has added.
 * @returns the addresses of those that it inserted
 */
export async function insertAudienceContacts(
  trx: Trx,
  workspaceId: WorkspaceId,
  rows: readonly AudienceContactRow[],
): Promise<Set<string>> {
  if (rows.length === 0) return new Set()
  const own = rows.map((row) => ({ ...row, workspace_id: workspaceId }))
  const inserted = await sql<{ email: string }>`
    insert into audience_contacts
    select * from jsonb_populate_recordset(null::audience_contacts, ${toRecords(own)}::jsonb)
    on conflict (audience_id, email) do nothing returning email
  `.execute(trx)
  return new Set(inserted.rows.map((row) => row.email))
}

/** Overwrites the changeable columns of locked contacts of a locked audience in one statement. */
export async function updateAudienceContacts(
  trx: Trx,
  workspaceId: WorkspaceId,
  rows: readonly ChangedAudienceContact[],
): Promise<void> {
  if (rows.length === 0) return
  await sql`
    update audience_contacts c
    set first_name = n.first_name, last_name = n.last_name, is_subscribed = n.is_subscribed,
      properties = coalesce(n.properties, c.properties), updated_at = n.updated_at, leave_copied = n.leave_copied
    from jsonb_populate_recordset(null::audience_contacts, ${toRecords(rows)}::jsonb) n
    where c.workspace_id = ${workspaceId} and c.id = n.id
  `.execute(trx)
}

/** Unsubscribes an address (lower case) in a locked audience. @returns false if it is not there, or not subscribed */
export async function unsubscribeAudienceContact(
  trx: Trx,
  workspaceId: WorkspaceId,
  { audienceId, email, at }: { audienceId: string; email: string; at: Date },
): Promise<boolean> {
  const left = await trx
    .updateTable('audience_contacts')
    // The caller writes the opt-out in the same commit.
    .set({ is_subscribed: false, updated_at: at, leave_copied: true })
    .where('workspace_id', '=', workspaceId)
    .where('audience_id', '=', audienceId)
    .where('email', '=', email)
    .where('is_subscribed', '=', true)
    .returning('id')
    .executeTakeFirst()
  return left !== undefined
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
