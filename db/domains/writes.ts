// Writes sending domains and their keys.

import { sql, type Updateable } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Trx } from '../connect.ts'
import { outboxRows } from '../outbox.ts'
import type { Database, NewRow, Row } from '../schema.ts'

/**
 * Starts the checks of domains in all workspaces that have none yet. A domain that is SUCCESS without checks was
 * set so by hand: its checks start when a request asks for one.
 */
export async function startMissingChecks(trx: Trx, at: Date): Promise<void> {
  await sql`
    with begun as (
      update domains set checking_since = ${at}
      where checking_since is null and status <> 'SUCCESS' and deleted_at is null
      returning id, workspace_id
    )
    ${outboxRows(
      sql`select 'domain_start' as kind, id as execution_id, workspace_id, '' as workflow_id,
        '' as contact_id, '{}'::jsonb as payload from begun`,
      at,
    )}
  `.execute(trx)
}

/** Writes a DKIM key of a domain. `private_key` is already encrypted. */
export async function insertDomainKey(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<NewRow<'domain_keys'>, 'workspace_id'>,
): Promise<void> {
  await trx
    .insertInto('domain_keys')
    .values({ ...row, workspace_id: workspaceId })
    .execute()
}

/**
 * Writes a domain with its first key, which signs at once.
 * @throws a unique violation of `domains_name` when the workspace has that name
 */
export async function insertDomain(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<NewRow<'domains'>, 'workspace_id'>,
  key: Omit<NewRow<'domain_keys'>, 'domain_id' | 'workspace_id' | 'created_at' | 'activated_at'>,
): Promise<void> {
  await trx
    .insertInto('domains')
    .values({ ...row, workspace_id: workspaceId })
    .execute()
  await insertDomainKey(trx, workspaceId, {
    ...key,
    domain_id: row.id,
    created_at: row.created_at,
    activated_at: row.created_at,
  })
}

/** Locks a domain until the transaction ends; undefined if it does not exist or was deleted. */
export function lockDomain(
  trx: Trx,
  { workspaceId, domainId }: Reach,
  id: string,
): Promise<Row<'domains'> | undefined> {
  return trx
    .selectFrom('domains')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('id', '=', domainId))
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forUpdate()
    .executeTakeFirst()
}

/** Changes columns of a domain that the caller has locked. */
export async function updateDomain(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  columns: Updateable<Database['domains']>,
): Promise<void> {
  if (Object.keys(columns).length === 0) return
  await trx
    .updateTable('domains')
    .set(columns)
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
}
