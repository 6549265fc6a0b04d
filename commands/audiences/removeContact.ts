// Removes a contact from an audience.

import { deleteAudienceContactOf } from '../../db/audiences/contactWrites.ts'
import { lockContactIds } from '../../db/contacts/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { noteMemberships } from './optOut.ts'
import { withAudience } from './withAudience.ts'

export interface RemoveContactInput {
  audienceId: string
  /** In lower case. */
  email: string
}

/**
 * Removes the contact, keeps that they left, updates the counts, and records `audience.left` if the address is an automation contact.
 */
export function removeAudienceContact(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { audienceId, email }: RemoveContactInput,
): Promise<undefined | Refusal<'audience_not_found' | 'audience_contact_not_found'>> {
  return withAudience(deps, workspaceId, audienceId, async (inTrx, at) => {
    const { db } = inTrx
    // Before their row in the audience, which a node of theirs changes under this lock.
    await lockContactIds(db, workspaceId, [email])
    const gone = await deleteAudienceContactOf(db, workspaceId, { audienceId, email })
    if (!gone) return refuse('audience_contact_not_found', { email })
    const call = { audienceId, at, takesBack: true }
    await noteMemberships(inTrx, workspaceId, call, [{ email, isSubscribed: false }])
    return {
      value: undefined,
      contacts: -1,
      unsubscribers: gone.is_subscribed ? 0 : -1,
      event: { name: 'audience.left', emails: [email] },
    }
  })
}
