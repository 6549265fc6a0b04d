// Reads the secrets of a workspace.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Db } from '../connect.ts'

/** Names of all secrets, in order, with the time of their last change; to a bound caller those of its domain alone. */
export function listSecrets(
  db: Db,
  { workspaceId, domainId }: Reach,
): Promise<{ name: string; updated_at: Date }[]> {
  return db
    .selectFrom('secrets')
    .select(['name', 'updated_at'])
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .orderBy('name')
    .execute()
}

/** Those of these names that there are in reach, with their encrypted values. */
export function listSecretValues(
  db: Db,
  { workspaceId, domainId }: Reach,
  names: readonly string[],
): Promise<{ name: string; value: Buffer }[]> {
  return db
    .selectFrom('secrets')
    .select(['name', 'value'])
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('name', 'in', names)
    .execute()
}

/** Those of these names that there are in reach. */
export async function findSecretNames(
  db: Db,
  { workspaceId, domainId }: Reach,
  names: readonly string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set()
  const rows = await db
    .selectFrom('secrets')
    .select('name')
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('name', 'in', names)
    .execute()
  return new Set(rows.map(({ name }) => name))
}

/** How many the workspace has, of all keys. */
export async function countSecrets(db: Db, workspaceId: WorkspaceId): Promise<number> {
  const { count } = await db
    .selectFrom('secrets')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return Number(count)
}
