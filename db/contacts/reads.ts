// Reads automation contacts.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import { newestFirst } from '../listOrder.ts'
import type { Row } from '../schema.ts'

export type ContactRow = Row<'contacts'>

export type ContactListRow = Omit<ContactRow, 'properties' | 'made_in'>

/** A page of contacts after the id `after`, newest first. */
export function listContacts(
  db: Db,
  workspaceId: WorkspaceId,
  page: { after: string | null; limit: number },
): Promise<ContactListRow[]> {
  return db
    .selectFrom('contacts')
    .select([
      'id',
      'workspace_id',
      'email',
      'event_count',
      'first_seen',
      'last_seen',
      'last_event',
      'created_at',
      'updated_at',
    ])
    .where('workspace_id', '=', workspaceId)
    .$if(page.after !== null, (qb) => qb.where('id', '<', page.after as string))
    .orderBy('id', newestFirst)
    .limit(page.limit)
    .execute()
}

/** @param email in lower case */
export function findContact(
  db: Db,
  workspaceId: WorkspaceId,
  email: string,
): Promise<ContactRow | undefined> {
  return db
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', email)
    .executeTakeFirst()
}

/** Which of the addresses (lower case) are automation contacts, in the order in which contacts are locked. */
export async function findContactEmails(
  db: Db,
  workspaceId: WorkspaceId,
  addresses: string[],
): Promise<string[]> {
  if (addresses.length === 0) return []
  const rows = await db
    .selectFrom('contacts')
    .select('email')
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`email = any(${addresses}::text[])`)
    .orderBy('id')
    .execute()
  return rows.map((row) => row.email)
}

/** The properties of the automation contact of that address (lower case), undefined when there is none. */
export async function findContactProperties(db: Db, workspaceId: WorkspaceId, email: string) {
  const row = await db
    .selectFrom('contacts')
    .select('properties')
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', email)
    .executeTakeFirst()
  return row?.properties
}
