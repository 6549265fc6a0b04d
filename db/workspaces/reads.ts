// Reads users of workspaces.
import type { Db } from '../connect.ts'

/** A user of any workspace by id: avatars are public. */
export function findUserById(db: Db, id: string) {
  return db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
}
