// Changes a contact of an audience.

import {
  type AudienceContactFields,
  findAudienceContactProperties,
} from '../../db/audiences/contactReads.ts'
import { lockAudienceContacts, updateAudienceContacts } from '../../db/audiences/contactWrites.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { type AudienceContactChange, changed, toChanged } from './change.ts'
import { findOwnOptOuts, noteMemberships, refuseOptedOut } from './optOut.ts'
import { withAudience } from './withAudience.ts'

export interface UpdateContactInput {
  audienceId: string
  /** In lower case. */
  email: string
  change: AudienceContactChange
}

type ChangeRefusal = Refusal<
  'audience_not_found' | 'audience_contact_not_found' | 'contact_properties_refused' | 'opted_out'
>

/** @returns the changed contact */
export function updateAudienceContact(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { audienceId, email, change }: UpdateContactInput,
): Promise<AudienceContactFields | ChangeRefusal> {
  return withAudience(deps, workspaceId, audienceId, async (inTrx, at) => {
    const { db } = inTrx
    const [known] = await lockAudienceContacts(db, workspaceId, audienceId, [email])
    if (!known) return refuse('audience_contact_not_found', { email })
    const asked = change.is_subscribed === true ? [email] : []
    const optOuts = await findOwnOptOuts(inTrx, workspaceId, audienceId, asked)
    const left = refuseOptedOut(optOuts, email, change)
    if (left) return left
    const stored = change.properties
      ? await findAudienceContactProperties(db, workspaceId, [known.id])
      : undefined
    const before = { ...known, properties: stored?.get(known.id) ?? null }
    const row = changed(before, change, at)
    if (isRefusal(row)) return row
    await updateAudienceContacts(db, workspaceId, [toChanged(before, row)])
    if (change.is_subscribed !== undefined) {
      const call = { audienceId, at, takesBack: true }
      const member = { email, isSubscribed: row.is_subscribed }
      await noteMemberships(inTrx, workspaceId, call, [member])
    }
    const unsubscribers = Number(!row.is_subscribed) - Number(!known.is_subscribed)
    return { value: row, unsubscribers }
  })
}
