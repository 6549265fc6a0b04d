// The stored key of the HMACs of addresses.
import type { Db, Trx } from '../connect.ts'

/** The key, encrypted; undefined before a process has made it. */
export async function findAddressKey(db: Db): Promise<Buffer | undefined> {
  const row = await db.selectFrom('address_keys').select('key').executeTakeFirst()
  return row?.key
}

/** Stores a key, unless there is one. */
export async function insertAddressKey(trx: Trx, key: Buffer, now: Date): Promise<void> {
  await trx
    .insertInto('address_keys')
    .values({ id: 1, key, created_at: now })
    .onConflict((oc) => oc.doNothing())
    .execute()
}

/** Replaces the key, unless it is another one by now. @returns whether it was */
export async function replaceAddressKey(trx: Trx, from: Buffer, to: Buffer): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('address_keys')
    .set({ key: to })
    .where('key', '=', from)
    .executeTakeFirst()
  return numUpdatedRows > 0
}
