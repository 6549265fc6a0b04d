// Reads and replaces the encrypted addresses of erasures that are not over, of all workspaces, for a change of SECRET_KEY.
import { sql } from 'kysely'
import type { Db, Trx } from '../connect.ts'

export interface ErasedAddress {
  id: string
  /** Encrypted, base64. */
  address: string
}

/** The next ones after one, in order; null begins. */
export async function listErasedAddresses(
  db: Db,
  { after, limit }: { after: ErasedAddress | null; limit: number },
): Promise<ErasedAddress[]> {
  const { rows } = await sql<ErasedAddress>`
    select id, input->>'address' as address from jobs
    where kind = 'erasure' and input ? 'address' and id > ${after?.id ?? ''}
    order by id limit ${limit}
  `.execute(db)
  return rows
}

/** Replaces an address, unless its job is over by now. @returns whether it did */
export async function replaceErasedAddress(
  trx: Trx,
  { id, address }: ErasedAddress,
  to: string,
): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    update jobs set input = jsonb_set(input, '{address}', to_jsonb(${to}::text))
    where id = ${id} and kind = 'erasure' and input->>'address' = ${address} returning id
  `.execute(trx)
  return rows.length > 0
}
