// Has the DNS records of a sending domain checked now.

import type { DomainRow } from '../../db/domains/reads.ts'
import { updateDomain } from '../../db/domains/writes.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { tellOfDomain } from './tell.ts'
import { reread, withDomain } from './withDomain.ts'

/**
 * Requests a check. A domain that has failed or is not verified yet gets another 72 hours. @returns the domain
 * before the check
 */
export function verifyDomain(
  deps: CommandDeps,
  reach: Reach,
  { id }: { id: string },
): Promise<DomainRow | Refusal<'domain_id_not_found'>> {
  return withDomain(deps, reach, id, async (inTrx, domain, at) => {
    if (domain.status === 'FAILED') {
      const round = { status: 'PENDING', failing_since: null, misses: 0 } as const
      await updateDomain(inTrx.db, reach.workspaceId, id, { ...round, checking_since: at })
      await tellOfDomain(inTrx, reach.workspaceId, id, 'updated')
    } else if (domain.status === 'NOT_STARTED' || domain.status === 'PENDING') {
      await updateDomain(inTrx.db, reach.workspaceId, id, { checking_since: at })
    }
    return reread(inTrx, reach, id)
  })
}
