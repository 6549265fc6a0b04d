// Reads audiences. One that is deleted is none.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import { newestFirst } from '../listOrder.ts'
import type { Row } from '../schema.ts'

export type AudienceRow = Row<'audiences'> & {
  user_email: string
  user_first_name: string | null
  user_last_name: string | null
}

/** A count with its changes that are not folded yet. */
const countOf = (change: 'contacts' | 'unsubscribers', count: 'contact_count' | 'unsubscribers') =>
  sql<number>`(a.${sql.ref(count)} + coalesce((
    select sum(c.${sql.ref(change)}) from audience_changes c where c.audience_id = a.id), 0))::int`.as(
    count,
  )

function withUser(db: Db) {
  return db
    .selectFrom('audiences as a')
    .innerJoin('users as u', 'u.id', 'a.created_by')
    .selectAll('a')
    .select([countOf('contacts', 'contact_count'), countOf('unsubscribers', 'unsubscribers')])
    .select([
      'u.email as user_email',
      'u.first_name as user_first_name',
      'u.last_name as user_last_name',
    ])
}

/** A page of audiences after the id `after`, newest first. */
export function listAudiences(
  db: Db,
  workspaceId: WorkspaceId,
  page: { after: string | null; limit: number },
): Promise<AudienceRow[]> {
  return withUser(db)
    .where('a.workspace_id', '=', workspaceId)
    .where('a.deleted_at', 'is', null)
    .$if(page.after !== null, (qb) => qb.where('a.id', '<', page.after as string))
    .orderBy('a.id', newestFirst)
    .limit(page.limit)
    .execute()
}

/** An audience with the user who made it. */
export function findAudience(
  db: Db,
  workspaceId: WorkspaceId,
  id: string,
): Promise<AudienceRow | undefined> {
  return withUser(db)
    .where('a.workspace_id', '=', workspaceId)
    .where('a.id', '=', id)
    .where('a.deleted_at', 'is', null)
    .executeTakeFirst()
}
