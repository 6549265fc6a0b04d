// Reads and writes a sending domain for its checks.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'
import type { Row } from '../schema.ts'

type CheckedKey = Pick<
  Row<'domain_keys'>,
  'id' | 'selector' | 'algorithm' | 'public_key' | 'created_at' | 'activated_at'
>

export type DomainToCheck = Pick<
  Row<'domains'>,
  | 'id'
  | 'workspace_id'
  | 'name'
  | 'status'
  | 'tracking_domain'
  | 'record_states'
  | 'checking_since'
  | 'failing_since'
  | 'misses'
> & { keys: CheckedKey[] }

const columns = [
  'id',
  'workspace_id',
  'name',
  'status',
  'tracking_domain',
  'record_states',
  'checking_since',
  'failing_since',
  'misses',
] as const

/**
 * A domain that was not deleted, with the keys that were not retired. It may be in any workspace, because the
 * workflow function knows only the domain's id.
 */
export async function findDomainToCheck(db: Db, id: string): Promise<DomainToCheck | undefined> {
  const row = await db
    .selectFrom('domains')
    .select(columns)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row && { ...row, keys: await listKeys(db, row.workspace_id, id) }
}

/** Like `findDomainToCheck`, with the domain locked until the transaction ends. */
export async function lockDomainToCheck(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<DomainToCheck | undefined> {
  const row = await trx
    .selectFrom('domains')
    .select(columns)
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forUpdate()
    .executeTakeFirst()
  return row && { ...row, keys: await listKeys(trx, workspaceId, id) }
}

function listKeys(db: Db, workspaceId: WorkspaceId, domainId: string): Promise<CheckedKey[]> {
  return db
    .selectFrom('domain_keys')
    .select(['id', 'selector', 'algorithm', 'public_key', 'created_at', 'activated_at'])
    .where('workspace_id', '=', workspaceId)
    .where('domain_id', '=', domainId)
    .where('retired_at', 'is', null)
    .orderBy('id')
    .execute()
}

export interface CheckOutcome {
  domain: Pick<
    Row<'domains'>,
    'status' | 'record_states' | 'checking_since' | 'failing_since' | 'misses' | 'error_type'
  > & { last_checked_at: Date; last_success_at?: Date }
  /** null: it was not found, and the stored one stays. */
  soa: object | null
  /** Ids of keys whose records were seen for the first time, and the time from which they sign. */
  activate: { ids: string[]; at: Date }
  /** Ids of keys whose records need not be published any longer. */
  retire: { ids: string[]; at: Date }
}

/** Writes what a check found, under the domain's lock. */
export async function updateCheckedDomain(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  found: CheckOutcome,
): Promise<void> {
  await trx
    .updateTable('domains')
    .set({
      ...found.domain,
      ...(found.soa ? { soa_record: JSON.stringify(found.soa) } : {}),
    })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
  const { activate, retire } = found
  const mine = () =>
    trx
      .updateTable('domain_keys')
      .where('workspace_id', '=', workspaceId)
      .where('domain_id', '=', id)
  if (activate.ids.length > 0) {
    const fresh = mine().where('id', 'in', activate.ids).where('activated_at', 'is', null)
    await fresh.set({ activated_at: activate.at }).execute()
  }
  if (retire.ids.length > 0) {
    await mine().where('id', 'in', retire.ids).set({ retired_at: retire.at }).execute()
  }
}
