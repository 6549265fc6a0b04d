// Unsubscribes an address from every audience of a workspace.

import { findAudienceContacts, listAudiencesOf } from '../../db/audiences/contactReads.ts'
import { updateAudienceContacts } from '../../db/audiences/contactWrites.ts'
import { lockAudience, updateAudienceCounts } from '../../db/audiences/writes.ts'
import type { Trx } from '../../db/connect.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

/** Unsubscribes an address (lower case) from all audiences. Locks the audiences in the order of their ids. */
export async function unsubscribeFromAudiences(
  trx: Trx,
  workspaceId: WorkspaceId,
  email: string,
  now: Date,
): Promise<void> {
  for (const audience_id of await listAudiencesOf(trx, workspaceId, email)) {
    if (!(await lockAudience(trx, workspaceId, audience_id))) continue
    const [row] = await findAudienceContacts(trx, workspaceId, audience_id, [email])
    if (!row?.is_subscribed) continue
    await updateAudienceContacts(trx, workspaceId, [
      { ...row, is_subscribed: false, updated_at: now },
    ])
    await updateAudienceCounts(trx, workspaceId, audience_id, { contacts: 0, unsubscribers: 1 })
  }
}
