// Reads the suppression list of a workspace.

import { type Expression, type SqlBool, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'

export type SuppressionRow = Row<'suppressions'>

/** Where a page of the list begins: after this row. */
export interface SuppressionPosition {
  created_ms: number
  email: string
}

/** The condition that a suppression is in force at that time: it has no end, or the end is later. */
export const live = (now: Date): Expression<SqlBool> =>
  sql<SqlBool>`(expires_at is null or expires_at > ${now})`

/** A page of the suppressions that are in force now, newest first; those of the same time by address. */
export function listSuppressions(
  db: Db,
  workspaceId: WorkspaceId,
  page: { after: SuppressionPosition | null; limit: number; now: Date },
): Promise<SuppressionRow[]> {
  const { after } = page
  return db
    .selectFrom('suppressions')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where(live(page.now))
    .$if(after !== null, (qb) =>
      qb.where(
        sql<SqlBool>`(created_at, email) < (${new Date(after?.created_ms ?? 0)}, ${after?.email ?? ''})`,
      ),
    )
    .orderBy('created_at', 'desc')
    .orderBy('email', 'desc')
    .limit(page.limit)
    .execute()
}

/** @param email in lower case */
export function findSuppression(
  db: Db,
  workspaceId: WorkspaceId,
  email: string,
): Promise<SuppressionRow | undefined> {
  return db
    .selectFrom('suppressions')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', email)
    .executeTakeFirst()
}
