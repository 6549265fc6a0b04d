// Reads sending domains.

import { jsonArrayFrom } from 'kysely/helpers/postgres'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { sendingStatuses } from '../../rules/states.ts'
import type { Db } from '../connect.ts'
import { newestFirst } from '../listOrder.ts'
import type { Row } from '../schema.ts'

/** Whether the domain has a key of that algorithm whose record was not seen yet. */
export async function hasWaitingKey(
  db: Db,
  workspaceId: WorkspaceId,
  domainId: string,
  algorithm: Row<'domain_keys'>['algorithm'],
): Promise<boolean> {
  const row = await db
    .selectFrom('domain_keys')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('domain_id', '=', domainId)
    .where('algorithm', '=', algorithm)
    .where('activated_at', 'is', null)
    .where('retired_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/** A key as its DNS record shows it. */
type PublicKey = Pick<Row<'domain_keys'>, 'selector' | 'algorithm' | 'public_key'> & {
  active: boolean
}

export type DomainRow = Row<'domains'> & {
  /** Keys whose records are to be published, oldest first. */
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
  { workspaceId, domainId }: Reach,
  page: { after: string | null; limit: number },
): Promise<DomainRow[]> {
  return withUser(db)
    .where('d.workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('d.id', '=', domainId))
    .$if(page.after !== null, (qb) => qb.where('d.id', '<', page.after as string))
    .orderBy('d.id', newestFirst)
    .limit(page.limit)
    .execute()
}

/** A domain that was not deleted, with its keys and the user who registered it. */
export function findDomain(
  db: Db,
  { workspaceId, domainId }: Reach,
  id: string,
): Promise<DomainRow | undefined> {
  return withUser(db)
    .where('d.workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('d.id', '=', domainId))
    .where('d.id', '=', id)
    .executeTakeFirst()
}

/** Whether any workspace sends from one of these domains; names in lower case. */
export async function isSendingDomain(db: Db, names: string[]): Promise<boolean> {
  const row = await db
    .selectFrom('domains')
    .select('id')
    .where('name', 'in', names)
    .where('status', 'in', sendingStatuses)
    .where('deleted_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** The domain of that name, in lower case, and whether it may be sent from. */
export function findDomainByName(
  db: Db,
  workspaceId: WorkspaceId,
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
