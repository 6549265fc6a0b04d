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
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Deletes an audience and its contacts; false when the workspace has none of that id. */
export async function deleteAudience(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<boolean> {
  const result = await trx
    .deleteFrom('audiences')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}

/**
 * Locks an audience, so that one transaction at a time changes its contacts and counts. Lock it before any
 * contact, and several audiences by id (order of locks: `transact`).
 */
export function lockAudience(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<Pick<Row<'audiences'>, 'id' | 'name'> | undefined> {
  return (
    trx
      .selectFrom('audiences')
      .select(['id', 'name'])
      .where('workspace_id', '=', workspaceId)
      .where('id', '=', id)
      // Whoever adds a contact without the lock may go on: the id stays.
      .forNoKeyUpdate()
      .executeTakeFirst()
  )
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
