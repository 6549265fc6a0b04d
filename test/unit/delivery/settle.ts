// Settles an outcome of an attempt at a fixed time.
import { toSettlement } from '../../../delivery/nextState.ts'
import type { Outcome } from '../../../mail/transport.ts'

/** When it is settled, ms. */
export const NOW = Date.UTC(2026, 0, 2)
const HOUR_MS = 3_600_000

/** The settlement of an outcome, unless `over` says otherwise of the first attempt of transactional mail. */
export function settle(
  outcome: Outcome,
  over: {
    attempt?: number
    resent?: number
    expired?: boolean
    resendUnknown?: boolean
    lastResponse?: string
    was?: 'queued' | 'deferred'
    ofRelay?: boolean
    isDomainGone?: boolean
  } = {},
) {
  return toSettlement(outcome, {
    delivery: {
      id: 7,
      attempt: over.attempt ?? 1,
      resent: over.resent ?? 0,
      last_response: over.lastResponse ?? null,
      was: over.was ?? 'queued',
      expires_at: new Date(NOW + (over.expired ? -1 : 24 * HOUR_MS)),
    },
    acceptedAt: NOW - 250,
    now: NOW,
    reportingMta: 'mail.test',
    resendUnknown: over.resendUnknown ?? true,
    random: 0.5,
    ofRelay: over.ofRelay ?? false,
    isDomainGone: over.isDomainGone ?? false,
  })
}

/** A refusal after RCPT. */
export const refused = (code: number, enhanced: string | null, reply: string): Outcome => ({
  kind: 'rejected',
  phase: 'rcpt',
  code,
  enhanced,
  reply,
})
