// Writes the suppression list of a workspace.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { Row } from '../schema.ts'
import { live } from './reads.ts'

/**
 * Suppresses an address (lower case). A stored suppression is replaced only by a stronger one (a permanent one
 * over a temporary one, a complaint over any other reason), and keeps its place in the list. An expired one is
 * replaced and listed as new.
 * @returns whether the address was not suppressed before
 */
export async function upsertSuppression(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<Row<'suppressions'>, 'workspace_id' | 'created_at'>,
  now: Date,
): Promise<boolean> {
  const { rows } = await sql<{ created_at: Date }>`
    insert into suppressions as s (workspace_id, email, reason, source_id, created_at, expires_at)
    values (${workspaceId}, ${row.email}, ${row.reason}, ${row.source_id}, ${now},
      ${row.expires_at})
    on conflict (workspace_id, email) do update set
      reason = excluded.reason, source_id = excluded.source_id, expires_at = excluded.expires_at,
      created_at = case when s.expires_at <= ${now} then excluded.created_at else s.created_at end
    where s.expires_at <= ${now}
      or (s.expires_at is not null and excluded.expires_at is null)
      or (s.reason <> 'complaint' and excluded.reason = 'complaint')
    returning created_at
  `.execute(trx)
  return rows[0]?.created_at.getTime() === now.getTime()
}

/**
 * Removes an address (lower case) from the list, and its soft bounces, so that the next one does not suppress it
 * again.
 * @returns false if it was not suppressed
 */
export async function deleteSuppression(
  trx: Trx,
  workspaceId: WorkspaceId,
  email: string,
  now: Date,
): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    with forgotten as (
      delete from soft_bounces where workspace_id = ${workspaceId} and email = ${email}
    )
    delete from suppressions where workspace_id = ${workspaceId} and email = ${email}
    returning ${live(now)} as held
  `.execute(trx)
  return rows[0]?.held ?? false
}
