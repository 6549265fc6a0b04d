// Locks and writes automation contacts.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isLiveAudience } from '../audiences/live.ts'
import type { Trx } from '../connect.ts'
import type { JsonObject } from '../schema.ts'
import type { ContactRow } from './reads.ts'

/** How long a transaction may wait for a lock that others wait behind. */
export const LOCK_WAIT_MS = 1_000

/** Keeps the transaction from waiting for any further lock longer than that (55P03). */
export async function boundLockWaits(trx: Trx, most_ms = LOCK_WAIT_MS): Promise<void> {
  await sql`select set_config('lock_timeout', ${`${most_ms}ms`}, true)`.execute(trx)
}

/** Does work that waits for no lock longer than `LOCK_WAIT_MS` (55P03); what follows it waits as before. Where it throws, the caller rolls back. */
export async function waitingBriefly(trx: Trx, work: () => Promise<void>): Promise<void> {
  const { rows } = await sql<{ before: string }>`
    select current_setting('lock_timeout') as before`.execute(trx)
  await boundLockWaits(trx)
  await work()
  await sql`select set_config('lock_timeout', ${rows[0]?.before}, true)`.execute(trx)
}

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
  await boundLockWaits(trx)
  return lockContactUnlessHeld(trx, workspaceId, contactId)
}

/** Locks a contact unless somebody holds it. @returns as `lockContactNow` */
export async function lockContactUnlessHeld(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
): Promise<ContactRow | 'held' | undefined> {
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

/**
 * Makes contacts of subscribed members that no event has made yet; those that there are stay as they are. Who has left the audience since its
 * members were read, or was erased, is passed over. It locks their rows of the audience, so whoever takes a member out waits until the contact is
 * there to be seen.
 * @param contacts `email` in lower case
 * @returns those that it made
 */
export async function insertMissingMembers(
  trx: Trx,
  workspaceId: WorkspaceId,
  audienceId: string,
  contacts: readonly { id: string; email: string }[],
  now: Date,
): Promise<{ id: string; email: string }[]> {
  const { rows } = await sql<{ id: string; email: string }>`
    with missing as materialized (
      select m.email from audience_contacts m
      where m.workspace_id = ${workspaceId} and m.audience_id = ${audienceId} and m.is_subscribed
        and m.email = any(${contacts.map(({ email }) => email)}::text[]) and ${isLiveAudience(sql`${audienceId}`)}
        and not exists (select from contacts known where known.workspace_id = ${workspaceId} and known.email = m.email)
      order by m.email for key share of m
    )
    insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at,
      updated_at)
    select c.id, ${workspaceId}, c.email, ${now}::timestamptz, ${now}::timestamptz, '',
      ${now}::timestamptz, ${now}::timestamptz
    from unnest(${contacts.map(({ id }) => id)}::text[],
      ${contacts.map(({ email }) => email)}::text[]) as c (id, email) join missing m on m.email = c.email
    order by c.email
    on conflict (workspace_id, email) do nothing
    returning id, email
  `.execute(trx)
  return rows
}

/** Locks contacts by their ids or addresses, in the order of ids. @param held what becomes of those that somebody holds */
export async function lockContactsBy(
  trx: Trx,
  workspaceId: WorkspaceId,
  column: 'id' | 'email',
  values: readonly string[],
  held: 'wait' | 'skip',
): Promise<ContactRow[]> {
  if (values.length === 0) return []
  const which = trx
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where(column, 'in', values)
    .orderBy('id')
    .forUpdate()
  return (held === 'skip' ? which.skipLocked() : which).execute()
}

/** Locks contacts by their addresses, in the order of their ids, and reads nothing of them. @param emails in lower case */
export async function lockContactIds(
  trx: Trx,
  workspaceId: WorkspaceId,
  emails: readonly string[],
): Promise<void> {
  await trx
    .selectFrom('contacts')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    // One parameter: a hundred take longer to write than to look up.
    .where('email', '=', sql<string>`any(${[...emails]}::text[])`)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
}
