// Stores what a check of a sending domain found, and changes the domain's state and keys accordingly.

import {
  type CheckOutcome,
  type DomainToCheck,
  lockDomainToCheck,
  updateCheckedDomain,
} from '../../db/domains/checks.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import {
  afterCheck,
  judge,
  KEY_NOTICE_MS,
  keysToRetire,
  nextCheckMs,
  type RecordState,
  signingKey,
} from '../../rules/mail/domainSchedule.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { tellOfDomain } from './tell.ts'

/** What the check found for each record. */
interface DomainFindings {
  /** The SOA record of the domain's zone; null if it was not found: the stored one stays. */
  soa: object | null
  mx: RecordState
  spf: RecordState
  dmarc: RecordState
  /** By selector. */
  dkim: Record<string, RecordState>
  /** null if the domain had no tracking host. */
  tracking: RecordState | null
}

export interface RecordCheckInput {
  id: string
  /** The tracking host that was checked. The domain may have another one by now. */
  trackingDomain: string | null
  findings: DomainFindings
}

/** @returns ms until the next check; null if there is none, or if the domain no longer exists */
export function recordDomainCheck(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake' | 'config'>,
  workspaceId: WorkspaceId,
  input: RecordCheckInput,
): Promise<{ next_ms: number | null }> {
  return transact(deps, async (inTrx) => {
    const { db, now } = inTrx
    const current = await lockDomainToCheck(db, workspaceId, input.id)
    if (!current) return { next_ms: null }
    const { outcome, next_ms } = conclude(current, input, now())
    await updateCheckedDomain(db, workspaceId, input.id, outcome)
    const { domain, activate, retire } = outcome
    if (domain.status !== current.status || activate.ids.length + retire.ids.length > 0) {
      await tellOfDomain(inTrx, workspaceId, input.id, 'updated')
    }
    return { next_ms }
  })
}

/** What the findings mean for the domain as it is now. It may have changed since the check began. */
function conclude(
  current: DomainToCheck,
  { trackingDomain, findings }: RecordCheckInput,
  now: Date,
): { outcome: CheckOutcome; next_ms: number | null } {
  const { keys } = current
  const { soa, mx, spf, dmarc, dkim } = findings
  const signing = signingKey(keys, 'rsa', now) ?? keys.find((key) => key.algorithm === 'rsa')
  const signed = (signing && dkim[signing.selector]) ?? 'SERVICE_ERROR'
  const { finding, error } = judge([signed, mx, spf])
  const before = {
    status: current.status,
    checkingSince: current.checking_since ?? now,
    failingSince: current.failing_since,
    misses: current.misses,
  }
  const after = afterCheck(before, finding, now)

  const unseen = keys.filter((key) => key.activated_at === null)
  const seen = unseen.filter((key) => dkim[key.selector] === 'SUCCESS')
  const sameHost = current.tracking_domain === trackingDomain
  const tracking = sameHost ? findings.tracking : null
  const outcome: CheckOutcome = {
    domain: {
      status: after.status,
      checking_since: after.checkingSince,
      failing_since: after.failingSince,
      misses: after.misses,
      error_type: error,
      record_states: { mx, spf, dmarc, dkim, ...trackingState(current, tracking) },
      last_checked_at: now,
      ...(finding === 'found' ? { last_success_at: now } : {}),
    },
    soa,
    activate: {
      ids: seen.map(({ id }) => id),
      at: new Date(now.getTime() + KEY_NOTICE_MS),
    },
    retire: { ids: keysToRetire(keys, now), at: now },
  }
  const waiting = unseen.filter((key) => !seen.includes(key)).map((key) => key.created_at)
  return { outcome, next_ms: nextCheckMs(after, waiting, now) }
}

/**
 * The stored state of the tracking host stays if the DNS did not answer: an unanswered look-up must not change
 * links.
 */
function trackingState(current: DomainToCheck, found: DomainFindings['tracking']) {
  const known = current.record_states['tracking']
  const unanswered = found === null || found === 'DNS_SERVER_ERROR' || found === 'SERVICE_ERROR'
  if (unanswered && known === 'SUCCESS' && current.tracking_domain) return { tracking: known }
  return found === null ? {} : { tracking: found }
}
