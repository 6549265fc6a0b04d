// Changes the settings of a sending domain.

import type { DomainRow } from '../../db/domains/reads.ts'
import { updateDomain as updateRow } from '../../db/domains/writes.ts'
import type { Row } from '../../db/schema.ts'
import { isDomainName } from '../../rules/addresses.ts'
import { mayTrack } from '../../rules/mail/domainRecords.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { tellOfDomain } from './tell.ts'
import { reread, withDomain } from './withDomain.ts'

/** Undefined leaves a setting as it is. */
export interface DomainChange {
  open_tracking_enabled?: boolean | undefined
  click_tracking_enabled?: boolean | undefined
  /** A host below the registrable domain; null: links name this service. */
  tracking_domain?: string | null | undefined
}

/**
 * Changes the given settings and has the domain checked. A new tracking host is used only after its record was
 * seen.
 * @returns the changed domain
 */
export function updateDomain(
  deps: CommandDeps,
  reach: Reach,
  { id, change }: { id: string; change: DomainChange },
): Promise<DomainRow | Refusal<'domain_id_not_found' | 'invalid_tracking_domain'>> {
  const { tracking_domain, open_tracking_enabled, click_tracking_enabled } = change
  return withDomain(deps, reach, id, async (inTrx, domain) => {
    const host = tracking_domain?.toLowerCase() ?? null
    if (host !== null && !(isDomainName(host) && mayTrack(host, domain.name))) {
      return refuse('invalid_tracking_domain', { domain: domain.name, host })
    }
    await updateRow(inTrx.db, reach.workspaceId, id, {
      ...(open_tracking_enabled === undefined ? {} : { open_tracking_enabled }),
      ...(click_tracking_enabled === undefined ? {} : { click_tracking_enabled }),
      ...(tracking_domain === undefined || host === domain.tracking_domain
        ? {}
        : { tracking_domain: host, record_states: withoutTracking(domain.record_states) }),
    })
    await tellOfDomain(inTrx, reach.workspaceId, id, 'updated')
    return reread(inTrx, reach, id)
  })
}

/** Removes the stored state of the former tracking host. */
function withoutTracking(states: Row<'domains'>['record_states']) {
  const { tracking: _, ...others } = states
  return others
}
