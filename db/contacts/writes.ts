// Locks and writes automation contacts.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { JsonObject } from '../schema.ts'
import type { ContactRow } from './reads.ts'

/** @param email in lower case */
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

export async function updateContactProperties(
  trx: Trx,
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

/** Locks the contact: whoever writes for him takes this lock first. */
export function lockContact(trx: Trx, contactId: string) {
  return trx
    .selectFrom('contacts')
    .selectAll()
    .where('id', '=', contactId)
    .forUpdate()
    .executeTakeFirst()
}
