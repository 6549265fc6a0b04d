// Reads users of workspaces.
import type { Db } from '../connect.ts'

/** Finds a user by id in any workspace, because avatars are public. */
export function findUserById(db: Db, id: string) {
  return db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
}
