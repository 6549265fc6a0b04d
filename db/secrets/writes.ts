// Writes the secrets of a workspace.
import type { Reach } from '../../rules/reach.ts'
import type { Trx } from '../connect.ts'

/**
 * Stores a secret, which is the caller's domain's if it is bound to one, or replaces its value.
 * @param value encrypted
 * @returns false if there is one of that name that a bound caller does not reach
 */
export async function upsertSecret(
  trx: Trx,
  { workspaceId, domainId }: Reach,
  { name, value, now }: { name: string; value: Buffer; now: Date },
): Promise<boolean> {
  const times = { created_at: now, updated_at: now }
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto('secrets')
    .values({ workspace_id: workspaceId, name, domain_id: domainId, value, ...times })
    .onConflict((oc) => {
      const update = oc.columns(['workspace_id', 'name']).doUpdateSet({ value, updated_at: now })
      return domainId === null ? update : update.where('secrets.domain_id', '=', domainId)
    })
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0
}

/** @returns false if the caller reaches none of that name */
export async function deleteSecretRow(
  trx: Trx,
  { workspaceId, domainId }: Reach,
  name: string,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('secrets')
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('name', '=', name)
    .executeTakeFirst()
  return numDeletedRows > 0
}
