// Unsubscribes an address from every audience of a workspace.

import { listAudiencesOf } from '../../db/audiences/contactReads.ts'
import { unsubscribeAudienceContact } from '../../db/audiences/contactWrites.ts'
import { lockAudience, updateAudienceCounts } from '../../db/audiences/writes.ts'
import { lockContactIds } from '../../db/contacts/writes.ts'
import { insertOptOuts, type OptOutSource } from '../../db/opt-outs/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'
import { audienceOptOut } from './optOut.ts'

/**
 * Unsubscribes an address (lower case) from all audiences. Locks the audiences in the order of their ids, then the automation contact
 * of the address, if there is an audience to leave.
 */
export async function unsubscribeFromAudiences(
  deps: InTrx<Pick<CommandDeps, 'db' | 'newId' | 'addressMac'>>,
  workspaceId: WorkspaceId,
  { email, source }: { email: string; source: OptOutSource },
  now: Date,
): Promise<void> {
  const { db: trx } = deps
  const audienceIds: string[] = []
  for (const id of await listAudiencesOf(trx, workspaceId, email)) {
    if (await lockAudience(trx, workspaceId, id)) audienceIds.push(id)
  }
  if (audienceIds.length === 0) return
  // Before their rows in the audiences, which a node of theirs changes under this lock.
  await lockContactIds(trx, workspaceId, [email])
  for (const audienceId of audienceIds) {
    const who = { audienceId, email, at: now }
    if (!(await unsubscribeAudienceContact(trx, workspaceId, who))) continue
    await insertOptOuts(trx, workspaceId, [{ ...audienceOptOut(deps, workspaceId, who), source }])
    await updateAudienceCounts(trx, workspaceId, audienceId, { contacts: 0, unsubscribers: 1 })
  }
}
