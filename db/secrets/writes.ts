// Writes the secrets of a workspace.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'

/** Stores a secret, or replaces its value. @param value encrypted */
export async function upsertSecret(
  trx: Trx,
  workspaceId: WorkspaceId,
  { name, value, now }: { name: string; value: Buffer; now: Date },
): Promise<void> {
  await trx
    .insertInto('secrets')
    .values({ workspace_id: workspaceId, name, value, created_at: now, updated_at: now })
    .onConflict((oc) =>
      oc.columns(['workspace_id', 'name']).doUpdateSet({ value, updated_at: now }),
    )
    .execute()
}

/** @returns false if there was none of that name */
export async function deleteSecretRow(
  trx: Trx,
  workspaceId: WorkspaceId,
  name: string,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('secrets')
    .where('workspace_id', '=', workspaceId)
    .where('name', '=', name)
    .executeTakeFirst()
  return numDeletedRows > 0
}
