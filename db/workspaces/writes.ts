// Writes workspaces and their users.
import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'

/** The workspace of that name, made when it is new. */
export async function upsertWorkspace(db: Db, row: Row<'workspaces'>): Promise<Row<'workspaces'>> {
  return db
    .insertInto('workspaces')
    .values(row)
    .onConflict((oc) => oc.column('name').doUpdateSet({ name: row.name }))
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** The user with that address in the workspace, made when he is new. */
export async function upsertUser(db: Db, row: Row<'users'>): Promise<Row<'users'>> {
  return db
    .insertInto('users')
    .values(row)
    .onConflict((oc) => oc.columns(['workspace_id', 'email']).doUpdateSet({ email: row.email }))
    .returningAll()
    .executeTakeFirstOrThrow()
}
