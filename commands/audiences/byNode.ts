// Adds the contact of an execution to an audience, or removes them, in the segment's transaction.
import { insertAudienceChange } from '../../db/audiences/changes.ts'
import {
  deleteAudienceContactOf,
  insertAudienceContactOnce,
} from '../../db/audiences/contactWrites.ts'
import { lockAudienceAgainstDelete } from '../../db/audiences/writes.ts'
import { hasLeftAudience } from '../../db/opt-outs/reads.ts'
import { happenings } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { recordAutomationEvent } from '../events/record.ts'
import type { InTrx } from '../transact.ts'

export interface MembershipByNode {
  change: 'join' | 'leave'
  audienceId: string
  /** In lower case. */
  email: string
  /** Of the execution: how many effects of executions have led to it. */
  chainDepth: number
  /** The execution: its own wait does not hear of it. */
  byExecution: string
}

export type MembershipChange = 'changed' | 'unchanged' | 'unknown_audience'

/** The event that a change records. */
export const audienceEvents = {
  join: happenings.audienceJoined,
  leave: happenings.audienceLeft,
} as const

/**
 * Who left the audience, or everything, is added unsubscribed. Being removed is no leave: no opt-out is written. Of the audience's
 * row it takes a lock for which only its deletion waits; the caller holds the contact's lock.
 */
export async function changeMembership(
  deps: InTrx<Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>>,
  workspaceId: WorkspaceId,
  { change, audienceId, email, chainDepth, byExecution }: MembershipByNode,
): Promise<MembershipChange> {
  const { db: trx, newId } = deps
  const audience = await lockAudienceAgainstDelete(trx, workspaceId, audienceId)
  if (!audience) return 'unknown_audience'
  const at = deps.now()
  const hmac = deps.addressMac(workspaceId, email)
  const who = { audienceId, email }
  const changed =
    change === 'join'
      ? await insertAudienceContactOnce(trx, workspaceId, {
          ...who,
          id: newId('audienceContact'),
          isSubscribed: !(await hasLeftAudience(trx, workspaceId, { audienceId, hmac })),
          at,
        })
      : await deleteAudienceContactOf(trx, workspaceId, who)
  if (!changed) return 'unchanged'
  const by = change === 'join' ? 1 : -1
  const unsubscribers = changed.is_subscribed ? 0 : by
  await insertAudienceChange(trx, workspaceId, audienceId, { contacts: by, unsubscribers })
  await recordAutomationEvent(deps, workspaceId, {
    eventId: null,
    eventName: audienceEvents[change],
    email,
    properties: { audience_id: audience.id, audience_name: audience.name },
    at,
    contactProperties: null,
    createContact: false,
    chainDepth,
    byExecution,
  })
  return 'changed'
}
