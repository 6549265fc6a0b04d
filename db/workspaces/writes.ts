// Writes workspaces and their users.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { Row } from '../schema.ts'

/** Returns the workspace of that name, and makes it if it does not exist. */
export function upsertWorkspace(trx: Trx, row: Row<'workspaces'>): Promise<Row<'workspaces'>> {
  return trx
    .insertInto('workspaces')
    .values(row)
    .onConflict((oc) => oc.column('name').doUpdateSet({ name: row.name }))
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Returns the workspace's user with that address, and makes them if they do not exist. */
export function upsertUser(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<Row<'users'>, 'workspace_id'>,
): Promise<Row<'users'>> {
  return trx
    .insertInto('users')
    .values({ ...row, workspace_id: workspaceId })
    .onConflict((oc) => oc.columns(['workspace_id', 'email']).doUpdateSet({ email: row.email }))
    .returningAll()
    .executeTakeFirstOrThrow()
}
