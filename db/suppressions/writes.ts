// Writes the suppression list of a workspace.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { live, type SuppressionRow } from './reads.ts'

/**
 * Suppresses an address (lower case). One that stands already stays as it is and where it is in the list, unless
 * the new one is stronger: for ever over for a while, a complaint over all. One that has expired begins anew.
 * @returns whether it held not before
 */
export async function upsertSuppression(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<SuppressionRow, 'workspace_id' | 'created_at'>,
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
 * Takes an address (lower case) off the list and forgets its soft bounces, which would bring it back at the next.
 * @returns false when it was not suppressed
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
