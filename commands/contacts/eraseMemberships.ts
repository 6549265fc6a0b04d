// Takes the address of an erased contact out of all audiences.
import { lockAudienceOrDeleted, updateAudienceCounts } from '../../db/audiences/writes.ts'
import { eraseMember, listMemberships } from '../../db/contacts/erase.ts'
import { insertOptOuts } from '../../db/opt-outs/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { audienceOptOut } from '../audiences/optOut.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'

type Deps = InTrx<Pick<CommandDeps, 'db' | 'newId' | 'addressMac'>>

/**
 * Audiences are locked before contacts and mail, those too that are deleted and have rows yet. Who had left one is still known to have left
 * it when they come back.
 * @param whom `email` in lower case; `members`: ids of those that go, absent: all
 */
export async function eraseMemberships(
  deps: Deps,
  workspaceId: WorkspaceId,
  { email, members, at }: { email: string; members?: readonly string[]; at: Date },
): Promise<void> {
  const { db: trx } = deps
  for (const one of await listMemberships(trx, workspaceId, email)) {
    const { audience_id: audienceId, id } = one
    if (members && !members.includes(id)) continue
    if (!(await lockAudienceOrDeleted(trx, workspaceId, audienceId))) continue
    const member = await eraseMember(trx, workspaceId, id)
    if (!member) continue
    const unsubscribers = member.is_subscribed ? 0 : -1
    await updateAudienceCounts(trx, workspaceId, audienceId, { contacts: -1, unsubscribers })
    if (member.is_subscribed) continue
    await insertOptOuts(trx, workspaceId, [
      audienceOptOut(deps, workspaceId, { audienceId, email, at }),
    ])
  }
}
