// Reads the secrets of a workspace.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'

/** Names of all secrets, in order, with the time of their last change. */
export function listSecrets(
  db: Db,
  workspaceId: WorkspaceId,
): Promise<{ name: string; updated_at: Date }[]> {
  return db
    .selectFrom('secrets')
    .select(['name', 'updated_at'])
    .where('workspace_id', '=', workspaceId)
    .orderBy('name')
    .execute()
}

/** Those of these names that there are, with their encrypted values. */
export function listSecretValues(
  db: Db,
  workspaceId: WorkspaceId,
  names: readonly string[],
): Promise<{ name: string; value: Buffer }[]> {
  return db
    .selectFrom('secrets')
    .select(['name', 'value'])
    .where('workspace_id', '=', workspaceId)
    .where('name', 'in', names)
    .execute()
}
