// Writes audiences. Code that changes their contacts also updates their counts, under the audience's lock, or adds to them (changes.ts).

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { NewRow, Row } from '../schema.ts'

/** Writes an audience without contacts. */
export async function insertAudience(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<NewRow<'audiences'>, 'workspace_id'>,
): Promise<void> {
  await trx
    .insertInto('audiences')
    .values({ ...row, workspace_id: workspaceId })
    .execute()
}

/** Renames an audience; false when the workspace has none of that id. */
export async function updateAudienceName(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  name: string,
  now: Date,
): Promise<boolean> {
  const result = await trx
    .updateTable('audiences')
    .set({ name, updated_at: now })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/**
 * Marks an audience as deleted, which it is for everybody from the commit on; what is left of it goes afterwards (`deleted.ts`). It waits for
 * those who change its contacts, and they wait for it: whoever comes later finds no audience.
 * @returns false when the workspace has none of that id
 */
export async function deleteAudience(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  now: Date,
): Promise<boolean> {
  // The lock of whoever deletes a row: to write the mark alone would not wait for nodes (`lockAudienceAgainstDelete`).
  const { rows } = await sql`
    update audiences set deleted_at = ${now}::timestamptz
    where id = (select a.id from audiences a
      where a.workspace_id = ${workspaceId} and a.id = ${id} and a.deleted_at is null for update)
    returning id
  `.execute(trx)
  return rows.length > 0
}

/** Whoever adds a contact without this lock may go on: the id stays. */
const lockRow = (trx: Trx, workspaceId: WorkspaceId, id: string) =>
  trx
    .selectFrom('audiences')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .forNoKeyUpdate()

/**
 * Locks an audience, so that one transaction at a time changes its contacts and counts. Lock it before any
 * contact, and several audiences by id (order of locks: `transact`).
 */
export function lockAudience(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<Pick<Row<'audiences'>, 'id' | 'name'> | undefined> {
  return lockRow(trx, workspaceId, id)
    .select(['id', 'name'])
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** Locks an audience that may be deleted already, for whoever removes a person from all that is left. @returns false: nothing is left of it */
export async function lockAudienceOrDeleted(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<boolean> {
  return (await lockRow(trx, workspaceId, id).select('id').executeTakeFirst()) !== undefined
}

/**
 * Keeps an audience from being deleted until the transaction ends, for whoever changes one of its contacts without its lock. Nobody else waits
 * for it, and it waits for nobody else than who is deleting the audience, so it may come after the lock of a contact.
 */
export function lockAudienceAgainstDelete(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<Pick<Row<'audiences'>, 'id' | 'name'> | undefined> {
  return trx
    .selectFrom('audiences')
    .select(['id', 'name'])
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forKeyShare()
    .executeTakeFirst()
}

/** Adds to the counts of a locked audience. */
export async function updateAudienceCounts(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  by: { contacts: number; unsubscribers: number },
): Promise<void> {
  if (by.contacts === 0 && by.unsubscribers === 0) return
  await sql`
    update audiences set contact_count = contact_count + ${by.contacts}::int,
      unsubscribers = unsubscribers + ${by.unsubscribers}::int
    where workspace_id = ${workspaceId} and id = ${id}
  `.execute(trx)
}
