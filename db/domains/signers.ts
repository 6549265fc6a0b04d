// Reads the keys that sign a domain's mail.

import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'

/** A domain with its DKIM keys. */
export interface DomainSigner {
  id: string
  name: string
  keys: Pick<
    Row<'domain_keys'>,
    'selector' | 'algorithm' | 'private_key' | 'activated_at' | 'retired_at'
  >[]
}

/** The domains of those ids with every key that has ever signed for them, the first activated first. */
export async function listDomainSigners(db: Db, ids: string[]): Promise<DomainSigner[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('domains as d')
    .innerJoin('domain_keys as k', 'k.domain_id', 'd.id')
    .select([
      'd.id',
      'd.name',
      'k.selector',
      'k.algorithm',
      'k.private_key',
      'k.activated_at',
      'k.retired_at',
    ])
    .where('d.id', 'in', ids)
    .where('k.activated_at', 'is not', null)
    .orderBy('k.activated_at')
    .orderBy('k.id')
    .execute()
  return ids.flatMap((id) => {
    const keys = rows.filter((row) => row.id === id)
    const [first] = keys
    return first ? { id, name: first.name, keys } : []
  })
}
