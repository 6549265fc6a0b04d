// Locks and writes automation contacts.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { JsonObject } from '../schema.ts'
import type { ContactRow } from './reads.ts'

/** How long a transaction that has passed over held contacts waits for another lock. */
const LOCK_WAIT_MAX = '1s'

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

/**
 * Locks a contact unless somebody holds it, and keeps the transaction from waiting long for any further lock (55P03).
 * @returns `held` if somebody does; undefined if there is no such contact
 */
export async function lockContactNow(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
): Promise<ContactRow | 'held' | undefined> {
  await sql`select set_config('lock_timeout', ${LOCK_WAIT_MAX}, true)`.execute(trx)
  const which = trx
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', contactId)
  const locked = await which.forUpdate().skipLocked().executeTakeFirst()
  if (locked) return locked
  return (await which.executeTakeFirst()) && 'held'
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
