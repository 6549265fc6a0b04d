// Unsubscribes an address from every audience of a workspace.

import { lockAudienceContacts, updateAudienceContacts } from '../../db/audiences/contactWrites.ts'
import { lockAudience, updateAudienceCounts } from '../../db/audiences/writes.ts'
import type { Trx } from '../../db/connect.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

/** Unsubscribes an address (lower case) from every audience of the workspace, one audience's lock after the other. */
export async function unsubscribeFromAudiences(
  trx: Trx,
  workspaceId: WorkspaceId,
  email: string,
  now: Date,
): Promise<void> {
  const subscribed = await trx
    .selectFrom('audience_contacts')
    .select('audience_id')
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', email)
    .where('is_subscribed', '=', true)
    .orderBy('audience_id')
    .execute()
  for (const { audience_id } of subscribed) {
    if (!(await lockAudience(trx, workspaceId, audience_id))) continue
    const [row] = await lockAudienceContacts(trx, audience_id, [email])
    if (!row?.is_subscribed) continue
    await updateAudienceContacts(trx, [{ ...row, is_subscribed: false, updated_at: now }])
    await updateAudienceCounts(trx, audience_id, { contacts: 0, unsubscribers: 1 })
  }
}
