// Reads the suppression list of a workspace.

import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'

/** `email` null: its person was erased, and it is kept by its HMAC alone. */
export type SuppressionRow = Omit<Row<'suppressions'>, 'email'> & { email: string | null }

/** Where a page of the list begins: after this row. */
export interface SuppressionPosition {
  created_ms: number
  /** In lower case; of one that was erased its HMAC, after `hmac:`. */
  email: string
}

/** A suppression of the list, with its place among those of the same time. */
type ListedSuppression = SuppressionRow & { place: string }

/** The condition that a suppression is in force at that time: it has no end, or the end is later. */
export const live = (now: Date): Expression<SqlBool> =>
  sql<SqlBool>`(expires_at is null or expires_at > ${now})`

/**
 * A page of the suppressions that are in force now, newest first; those of the same time by address, or HMAC. Each part is read by its
 * own index.
 */
export async function listSuppressions(
  db: Db,
  workspaceId: WorkspaceId,
  page: { after: SuppressionPosition | null; limit: number; now: Date },
): Promise<ListedSuppression[]> {
  const { after, limit, now } = page
  const isAfter = (place: RawBuilder<unknown>) =>
    after
      ? sql`(created_at, ${place}) < (${new Date(after.created_ms)}, ${after.email})`
      : sql`true`
  const hashed = sql`('hmac:' || encode(address_hmac, 'hex')) collate "C"`
  const { rows } = await sql<ListedSuppression>`
    select * from (
      (select workspace_id, email, reason, source_id, created_at, expires_at, email as place from suppressions
        where workspace_id = ${workspaceId} and ${live(now)} and ${isAfter(sql`email`)}
        order by created_at desc, email desc limit ${limit})
      union all
      (select workspace_id, null, reason, source_id, created_at, expires_at, ${hashed} from erased_suppressions
        where workspace_id = ${workspaceId} and ${live(now)} and ${isAfter(hashed)}
        order by created_at desc, ${hashed} desc limit ${limit})
    ) listed order by created_at desc, place desc limit ${limit}
  `.execute(db)
  return rows
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
