// Writes sending domains and their keys.

import { sql, type Updateable } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'
import { insertDomainTask } from '../outbox.ts'
import type { Database, NewRow, Row } from '../schema.ts'

/** Starts the checks of domains that have none yet; those that somebody has verified by hand wait to be asked for. */
export async function startMissingChecks(db: Db, at: Date): Promise<void> {
  await sql`
    with begun as (
      update domains set checking_since = ${at}
      where checking_since is null and status <> 'SUCCESS' and deleted_at is null
      returning id, workspace_id
    )
    insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, next_at, created_at)
    select 'domain_start', id, workspace_id, '', '', ${at}, ${at} from begun
  `.execute(db)
}

export async function insertDomainKey(db: Db, row: NewRow<'domain_keys'>): Promise<void> {
  await db.insertInto('domain_keys').values(row).execute()
}

type FirstKey = Omit<
  NewRow<'domain_keys'>,
  'domain_id' | 'workspace_id' | 'created_at' | 'activated_at'
>

/**
 * Writes a domain with its first key, which signs at once.
 * @throws a unique violation of `domains_name` when the workspace has that name
 */
export async function insertDomain(db: Db, row: NewRow<'domains'>, key: FirstKey): Promise<void> {
  await db.transaction().execute((trx) => writeDomain(trx, row, key))
}

/**
 * The same, with the word that starts its checks.
 * @throws a unique violation of `domains_name` when the workspace has that name
 */
export async function registerDomain(
  db: Db,
  row: Omit<NewRow<'domains'>, 'created_at'> & { created_at: Date },
  key: FirstKey,
): Promise<void> {
  const at = row.created_at
  await db.transaction().execute(async (trx) => {
    await writeDomain(trx, { ...row, checking_since: at }, key)
    const about = { domainId: row.id, workspaceId: row.workspace_id }
    await insertDomainTask(trx, { kind: 'domain_start', ...about, at })
  })
}

async function writeDomain(trx: Trx, row: NewRow<'domains'>, key: FirstKey) {
  await trx.insertInto('domains').values(row).execute()
  await insertDomainKey(trx, {
    ...key,
    domain_id: row.id,
    workspace_id: row.workspace_id,
    created_at: row.created_at,
    activated_at: row.created_at,
  })
}

/** The domain's own row, held to the end of the transaction; undefined when it is not there, or deleted. */
export function lockDomain(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<Row<'domains'> | undefined> {
  return trx
    .selectFrom('domains')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
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
