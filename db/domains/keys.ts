// Reads and replaces the encrypted DKIM keys of all domains, for a change of SECRET_KEY.
import type { Db, Trx } from '../connect.ts'

/** The next keys after an id, in the order of their ids; '' begins. Keys of deleted domains are among them. */
export function listPrivateKeys(
  db: Db,
  { after, limit }: { after: string; limit: number },
): Promise<{ id: string; domain_id: string; private_key: Buffer }[]> {
  return db
    .selectFrom('domain_keys')
    .select(['id', 'domain_id', 'private_key'])
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Replaces an encrypted key, unless it is another one by now. @returns whether it was */
export async function replacePrivateKey(
  trx: Trx,
  id: string,
  { from, to }: { from: Buffer; to: Buffer },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('domain_keys')
    .set({ private_key: to })
    .where('id', '=', id)
    .where('private_key', '=', from)
    .executeTakeFirst()
  return numUpdatedRows > 0
}
