// Locks the deliveries of mail that is blanked: who reports about them has told what they tell by then, or reads what is left.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'

/**
 * A statement that came before it does not see what it has waited for, so all that is blanked is looked for after it.
 * @param emailIds those that have ended are locked
 * @param scheduledIds those of `emailIds` whose scheduled deliveries are locked too, since whoever moves them rewrites the header
 */
export async function lockDeliveriesToBlank(
  trx: Trx,
  workspaceId: WorkspaceId,
  emailIds: readonly string[],
  scheduledIds: readonly string[],
): Promise<void> {
  if (emailIds.length === 0) return
  await sql`
    select 1 from deliveries
    where workspace_id = ${workspaceId} and email_id = any(${[...emailIds]}::text[])
      and (settled_at is not null or scheduled and email_id = any(${[...scheduledIds]}::text[]))
    order by id for update`.execute(trx)
}
