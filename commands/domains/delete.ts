// Deletes a sending domain.

import { updateDomainKeysRevoked } from '../../db/api-keys/writes.ts'
import { stopScheduledOf } from '../../db/deliveries/scheduled.ts'
import { updateDomain } from '../../db/domains/writes.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Refusal } from '../../rules/refusals.ts'
import type { RevokingDeps } from '../deps.ts'
import { tellOfDomain } from './tell.ts'
import { withDomain } from './withDomain.ts'

/**
 * Deletes a domain: its name is free at once, API keys for it are revoked, accepted mail is still sent, but what is scheduled for later is
 * not: it is settled in this commit, or, where that is very much, when it is due.
 */
export function deleteDomain(
  deps: RevokingDeps,
  reach: Reach,
  { id }: { id: string },
): Promise<undefined | Refusal<'domain_id_not_found'>> {
  return withDomain(deps, reach, id, async (inTrx, _domain, at) => {
    const { db, keysRevoked } = inTrx
    await tellOfDomain(inTrx, reach.workspaceId, id, 'deleted')
    await updateDomain(db, reach.workspaceId, id, { deleted_at: at })
    await updateDomainKeysRevoked(db, reach.workspaceId, id, at)
    keysRevoked(reach.workspaceId)
    await stopScheduledOf(db, reach.workspaceId, id, at)
    return undefined
  })
}
