// Queries over sending domains. The private key is read only by who signs.
import type { Transaction, Updateable } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import type { Db } from './connect.ts'
import { insertDomainTask } from './domainChecks.ts'
import { insertDomainKey } from './domainKeys.ts'
import { newestFirst } from './listOrder.ts'
import type { Database, NewRow, Row } from './schema.ts'

/** A key as its DNS record shows it. */
export type PublicKey = Pick<Row<'domain_keys'>, 'selector' | 'algorithm' | 'public_key'> & {
  active: boolean
}

export type DomainRow = Row<'domains'> & {
  /** Keys whose records are to be published, the first made first. */
  keys: PublicKey[]
  user_email: string
  user_first_name: string | null
  user_last_name: string | null
}

function withUser(db: Db) {
  return db
    .selectFrom('domains as d')
    .innerJoin('users as u', 'u.id', 'd.created_by')
    .selectAll('d')
    .select((eb) => [
      'u.email as user_email',
      'u.first_name as user_first_name',
      'u.last_name as user_last_name',
      jsonArrayFrom(
        eb
          .selectFrom('domain_keys as k')
          .select(['k.selector', 'k.algorithm', 'k.public_key'])
          .select((kb) => kb('k.activated_at', 'is not', null).$castTo<boolean>().as('active'))
          .whereRef('k.domain_id', '=', 'd.id')
          .where('k.retired_at', 'is', null)
          .orderBy('k.id'),
      ).as('keys'),
    ])
    .where('d.deleted_at', 'is', null)
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
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
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

async function writeDomain(trx: Transaction<Database>, row: NewRow<'domains'>, key: FirstKey) {
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
  trx: Transaction<Database>,
  workspaceId: string,
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
  trx: Transaction<Database>,
  workspaceId: string,
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
