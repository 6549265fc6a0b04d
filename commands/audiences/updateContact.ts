// Changes a contact of an audience.

import type { AudienceContactRow } from '../../db/audiences/contactReads.ts'
import { lockAudienceContacts, updateAudienceContacts } from '../../db/audiences/contactWrites.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { noteMemberships } from './optOut.ts'
import { type AudienceContactChange, changed, withAudience } from './withAudience.ts'

export interface UpdateContactInput {
  audienceId: string
  /** In lower case. */
  email: string
  change: AudienceContactChange
}

/** @returns the changed contact */
export function updateAudienceContact(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { audienceId, email, change }: UpdateContactInput,
): Promise<AudienceContactRow | Refusal<'audience_not_found' | 'audience_contact_not_found'>> {
  return withAudience(deps, workspaceId, audienceId, async (inTrx, at) => {
    const { db } = inTrx
    const [known] = await lockAudienceContacts(db, workspaceId, audienceId, [email])
    if (!known) return refuse('audience_contact_not_found', { email })
    const row = changed(known, change, at)
    await updateAudienceContacts(db, workspaceId, [row])
    if (change.is_subscribed !== undefined) {
      const call = { audienceId, at, takesBack: true }
      const member = { email, isSubscribed: row.is_subscribed }
      await noteMemberships(inTrx, workspaceId, call, [member])
    }
    const unsubscribers = Number(!row.is_subscribed) - Number(!known.is_subscribed)
    return { value: row, unsubscribers }
  })
}
