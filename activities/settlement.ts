// What an attempt's outcome means for the ledger: pure, from the outcome to the row's next state.
import type { ClaimedDelivery, Settlement } from '../db/deliveries.ts'
import { classifyReply, isFinal, retriesExhausted } from '../mail/bounceRules.ts'
import { isUnknownDomain } from '../mail/mxHosts.ts'
import { nextAttempt } from '../mail/retry.ts'
import type { Outcome } from '../mail/transport.ts'

/** `delivered` in the contract's words when nobody can know (RFC 1047) and it is not sent again. */
export const UNKNOWN_RESPONSE = 'unknown: connection lost after the end of data'

export interface SettleContext {
  delivery: Pick<ClaimedDelivery, 'id' | 'attempt' | 'expires_at' | 'resent' | 'last_response'>
  /** When the mail was accepted by us, ms. */
  acceptedAt: number
  now: number
  /** Our EHLO name. */
  reportingMta: string
  /** Whether an unknown outcome of this mail may be sent once more. */
  resendUnknown: boolean
  /** 0 ≤ x < 1 */
  random: number
}

/** The row's next state; null when the lease was lost and another owner decides. */
export function toSettlement(outcome: Outcome, context: SettleContext): Settlement | null {
  const { delivery, now } = context
  const settle = (rest: Partial<Settlement> & Pick<Settlement, 'state'>): Settlement => ({
    id: delivery.id,
    nextAt: null,
    response: null,
    resent: delivery.resent,
    event: null,
    suppress: false,
    ...rest,
  })
  const delivered = (response: string) =>
    ({
      status: 'delivered',
      at: new Date(now),
      data: {
        processing_time_millis: Math.max(0, now - context.acceptedAt),
        reporting_mta: context.reportingMta,
        smtp_response: response,
      },
    }) as const
  const bounced = (type: string, subtype: string) =>
    ({ status: 'bounced', at: new Date(now), data: { type, subtype } }) as const
  const tryAgain = (response: string, reply: string | null) => {
    const next = nextAttempt({
      attempt: delivery.attempt,
      now,
      expiresAt: delivery.expires_at.getTime(),
      reply,
      random: context.random,
    })
    if (next.kind === 'retry')
      return settle({ state: 'deferred', nextAt: new Date(next.at), response })
    const { type, subtype } = retriesExhausted
    return settle({ state: 'bounced', response, event: bounced(type, subtype) })
  }

  switch (outcome.kind) {
    case 'delivered':
      return settle({
        state: 'delivered',
        response: outcome.reply,
        event: delivered(outcome.reply),
      })
    case 'rejected': {
      // A domain that cannot be found twice, half an hour apart, does not exist.
      const confirmed = isUnknownDomain(outcome.reply) && isUnknownDomain(delivery.last_response)
      if (!isFinal(outcome) && !confirmed) return tryAgain(outcome.reply, outcome.reply)
      const bounce = classifyReply(confirmed ? { ...outcome, phase: 'rcpt' } : outcome)
      return settle({
        state: 'bounced',
        response: outcome.reply,
        event: bounced(bounce.type, bounce.subtype),
        suppress: bounce.suppress,
      })
    }
    case 'failed':
      return tryAgain(`${outcome.phase}: ${outcome.error}`, null)
    case 'busy':
      return settle({
        state: 'queued',
        nextAt: new Date(now + outcome.retryAfter_ms),
        response: delivery.last_response,
      })
    case 'lost_lease':
      return null
    case 'ambiguous':
      if (context.resendUnknown && delivery.resent === 0) {
        return settle({
          state: 'queued',
          nextAt: new Date(now),
          response: UNKNOWN_RESPONSE,
          resent: 1,
        })
      }
      return settle({
        state: 'unknown',
        response: UNKNOWN_RESPONSE,
        event: delivered(UNKNOWN_RESPONSE),
      })
  }
}
