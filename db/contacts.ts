// Queries over automation contacts.
import type { Transaction } from 'kysely'
import type { Db } from './connect.ts'
import { newestFirst } from './listOrder.ts'
import type { Database, JsonObject, Row } from './schema.ts'

export type ContactRow = Row<'contacts'>
export type ContactListRow = Omit<ContactRow, 'properties'>

/** A page of contacts after the id `after`, newest first. */
export function listContacts(
  db: Db,
  workspaceId: string,
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
  workspaceId: string,
  email: string,
): Promise<ContactRow | undefined> {
  return db
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', email)
    .executeTakeFirst()
}

/** @param email in lower case */
export function lockContactByEmail(
  trx: Transaction<Database>,
  workspaceId: string,
  email: string,
): Promise<ContactRow | undefined> {
  return trx
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', email)
    .forUpdate()
    .executeTakeFirst()
}

export async function updateContactProperties(
  trx: Transaction<Database>,
  contactId: string,
  properties: JsonObject,
  now: Date,
): Promise<void> {
  await trx
    .updateTable('contacts')
    .set({ properties: JSON.stringify(properties), updated_at: now })
    .where('id', '=', contactId)
    .execute()
}
