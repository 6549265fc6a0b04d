// Reads limits, and what of a day was used.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'

export type LimitRow = Omit<Row<'rate_limits'>, 'updated_at'>

/** Every limit that is set. */
export function listLimits(db: Db): Promise<LimitRow[]> {
  return db
    .selectFrom('rate_limits')
    .select(['subject', 'workspace_id', 'per_second', 'burst', 'emails_per_day'])
    .orderBy('subject')
    .execute()
}

/** How many places of a day a subject's emails have taken. */
export async function countDayPlaces(
  db: Db,
  workspaceId: WorkspaceId,
  subject: string,
  day: string,
): Promise<number> {
  const { rows } = await sql<{ emails: number }>`
    select emails from email_days
    where workspace_id = ${workspaceId} and subject = ${subject} and day = ${day}::date
  `.execute(db)
  return rows[0]?.emails ?? 0
}

/** A workspace by its name or id, or an API key by its id; undefined when there is none. */
export async function findSubject(
  db: Db,
  which: { workspace: string } | { key: string },
): Promise<{ subject: string; workspace_id: WorkspaceId; name: string } | undefined> {
  if ('key' in which) {
    const key = await db
      .selectFrom('api_keys')
      .select(['id', 'workspace_id', 'name'])
      .where('id', '=', which.key)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    return key && { subject: key.id, workspace_id: key.workspace_id, name: key.name }
  }
  const workspace = await db
    .selectFrom('workspaces')
    .select(['id', 'name'])
    .where((eb) =>
      eb.or([eb('name', '=', which.workspace), eb('id', '=', which.workspace as WorkspaceId)]),
    )
    .executeTakeFirst()
  if (!workspace) return undefined
  const { id, name } = workspace
  return { subject: id, workspace_id: id, name }
}
