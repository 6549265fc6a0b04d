// Queries over the DKIM keys of sending domains.
import type { Db } from './connect.ts'
import type { NewRow, Row } from './schema.ts'

export async function insertDomainKey(db: Db, row: NewRow<'domain_keys'>): Promise<void> {
  await db.insertInto('domain_keys').values(row).execute()
}

/** What signing for a domain takes. */
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

/** Whether the domain has a key of that algorithm whose record was not seen yet. */
export async function hasWaitingKey(
  db: Db,
  domainId: string,
  algorithm: Row<'domain_keys'>['algorithm'],
): Promise<boolean> {
  const row = await db
    .selectFrom('domain_keys')
    .select('id')
    .where('domain_id', '=', domainId)
    .where('algorithm', '=', algorithm)
    .where('activated_at', 'is', null)
    .where('retired_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}
