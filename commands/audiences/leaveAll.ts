// Unsubscribes an address from every audience of a workspace.

import { findAudienceContacts, listAudiencesOf } from '../../db/audiences/contactReads.ts'
import { updateAudienceContacts } from '../../db/audiences/contactWrites.ts'
import { lockAudience, updateAudienceCounts } from '../../db/audiences/writes.ts'
import { insertOptOuts, type OptOutSource } from '../../db/opt-outs/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'
import { audienceOptOut } from './optOut.ts'

/** Unsubscribes an address (lower case) from all audiences. Locks the audiences in the order of their ids. */
export async function unsubscribeFromAudiences(
  deps: InTrx<Pick<CommandDeps, 'db' | 'newId' | 'addressMac'>>,
  workspaceId: WorkspaceId,
  { email, source }: { email: string; source: OptOutSource },
  now: Date,
): Promise<void> {
  const { db: trx } = deps
  for (const audience_id of await listAudiencesOf(trx, workspaceId, email)) {
    if (!(await lockAudience(trx, workspaceId, audience_id))) continue
    const [row] = await findAudienceContacts(trx, workspaceId, audience_id, [email])
    if (!row?.is_subscribed) continue
    await updateAudienceContacts(trx, workspaceId, [
      { ...row, is_subscribed: false, updated_at: now, leave_copied: true },
    ])
    const optOut = audienceOptOut(deps, workspaceId, { audienceId: audience_id, email, at: now })
    await insertOptOuts(trx, workspaceId, [{ ...optOut, source }])
    await updateAudienceCounts(trx, workspaceId, audience_id, { contacts: 0, unsubscribers: 1 })
  }
}
