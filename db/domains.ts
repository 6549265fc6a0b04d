// Queries over sending domains. The private key is read only by who signs.
import type { Db } from './connect.ts'
import { newestFirst } from './listOrder.ts'
import type { NewRow, Row } from './schema.ts'

export type DomainRow = Omit<Row<'domains'>, 'private_key'> & {
  user_email: string
  user_first_name: string | null
  user_last_name: string | null
}

function withUser(db: Db) {
  return db
    .selectFrom('domains as d')
    .innerJoin('users as u', 'u.id', 'd.created_by')
    .select([
      'd.id',
      'd.workspace_id',
      'd.name',
      'd.status',
      'd.dkim_selector',
      'd.public_key',
      'd.last_checked_at',
      'd.last_success_at',
      'd.error_type',
      'd.soa_record',
      'd.is_warmed_up',
      'd.warmed_up_at',
      'd.open_tracking_enabled',
      'd.click_tracking_enabled',
      'd.created_by',
      'd.created_at',
      'u.email as user_email',
      'u.first_name as user_first_name',
      'u.last_name as user_last_name',
    ])
}

/** A page of domains after the id `after`, newest first. */
export function listDomains(
  db: Db,
  workspaceId: string,
  page: { after: string | null; limit: number },
): Promise<DomainRow[]> {
  return withUser(db)
    .where('d.workspace_id', '=', workspaceId)
    .$if(page.after !== null, (qb) => qb.where('d.id', '<', page.after as string))
    .orderBy('d.id', newestFirst)
    .limit(page.limit)
    .execute()
}

export function findDomain(
  db: Db,
  workspaceId: string,
  id: string,
): Promise<DomainRow | undefined> {
  return withUser(db)
    .where('d.workspace_id', '=', workspaceId)
    .where('d.id', '=', id)
    .executeTakeFirst()
}

/** The domain of that name, in lower case, and whether it may be sent from. */
export function findDomainByName(
  db: Db,
  workspaceId: string,
  name: string,
): Promise<Pick<Row<'domains'>, 'id' | 'name' | 'status'> | undefined> {
  return db
    .selectFrom('domains')
    .select(['id', 'name', 'status'])
    .where('workspace_id', '=', workspaceId)
    .where('name', '=', name)
    .executeTakeFirst()
}

/** @throws a unique violation of `domains_workspace_id_name_key` when the workspace has that name */
export async function insertDomain(db: Db, row: NewRow<'domains'>): Promise<void> {
  await db.insertInto('domains').values(row).execute()
}
