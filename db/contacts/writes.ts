// Locks and writes automation contacts.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { JsonObject } from '../schema.ts'
import type { ContactRow } from './reads.ts'

/**
 * Locks the contact of an address (order of locks: `transact`).
 * @param email in lower case
 */
export function lockContactByEmail(
  trx: Trx,
  workspaceId: WorkspaceId,
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

/** Locks a contact. It comes before the lock of any of the contact's executions (order of locks: `transact`). */
export function lockContact(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
): Promise<ContactRow | undefined> {
  return trx
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', contactId)
    .forUpdate()
    .executeTakeFirst()
}

/** Replaces the properties of a locked contact. */
export async function updateContactProperties(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
  properties: JsonObject,
  now: Date,
): Promise<void> {
  await trx
    .updateTable('contacts')
    .set({ properties: JSON.stringify(properties), updated_at: now })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', contactId)
    .execute()
}
