// What an attempt's outcome means for the ledger: pure, from the outcome to the row's next state.
import type { ClaimedDelivery } from '../db/deliveries/claim.ts'
import type { Settlement } from '../db/deliveries/settle.ts'
import { isUnknownDomain } from '../mail/dns/mxHosts.ts'
import type { Outcome } from '../mail/transport.ts'
import { type Bounce, classifyReply, isFinal, retriesExhausted } from '../rules/mail/bounceRules.ts'
import { nextAttempt } from '../rules/mail/retry.ts'

/** `delivered` in the contract's words when nobody can know (RFC 1047) and it is not sent again. */
export const UNKNOWN_RESPONSE = 'unknown: connection lost after the end of data'

export interface SettleContext {
  delivery: Pick<
    ClaimedDelivery,
    'id' | 'attempt' | 'expires_at' | 'resent' | 'last_response' | 'was'
  >
  /** When the mail was accepted by us, ms. */
  acceptedAt: number
  now: number
  /** Our EHLO name. */
  reportingMta: string
  /** Whether an unknown outcome of this mail may be sent once more. */
  resendUnknown: boolean
  /** 0 ≤ x < 1 */
  random: number
  /** The mail could not be made, which is nothing that the recipient's address is to blame for. */
  ours?: boolean
}

/** The row's next state; null when the lease was lost and another owner decides. */
export function toSettlement(outcome: Outcome, context: SettleContext): Settlement | null {
  const { delivery, now } = context
  const settle = (rest: Partial<Settlement> & Pick<Settlement, 'state'>): Settlement => ({
    id: delivery.id,
    nextAt: null,
    response: null,
    resent: delivery.resent,
    counted: true,
    event: null,
    suppress: 'no',
    attempt: null,
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
  const giveUp = (response: string, suppress: Settlement['suppress']) => {
    const { type, subtype } = retriesExhausted
    return settle({ state: 'bounced', response, event: bounced(type, subtype), suppress })
  }
  const tryAgain = (response: string, reply: string | null, ours: boolean) => {
    const next = nextAttempt({
      attempt: delivery.attempt,
      now,
      expiresAt: delivery.expires_at.getTime(),
      reply,
      random: context.random,
    })
    if (next.kind === 'retry')
      return settle({ state: 'deferred', nextAt: new Date(next.at), response })
    return giveUp(response, suppressionOf({ ...retriesExhausted, ours }))
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
      if (!isFinal(outcome) && !confirmed) {
        return tryAgain(outcome.reply, outcome.reply, classifyReply(outcome).ours)
      }
      const bounce = classifyReply(confirmed ? { ...outcome, phase: 'rcpt' } : outcome)
      return settle({
        state: 'bounced',
        response: outcome.reply,
        event: bounced(bounce.type, bounce.subtype),
        suppress: suppressionOf(bounce),
      })
    }
    case 'failed':
      return tryAgain(`${outcome.phase}: ${outcome.error}`, null, context.ours ?? false)
    case 'busy':
      if (now >= delivery.expires_at.getTime()) return giveUp(outcome.error, 'no')
      return settle({
        state: delivery.was,
        counted: false,
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

/** What a final bounce means for the address: what is our fault means nothing. */
function suppressionOf(bounce: Bounce): Settlement['suppress'] {
  if (bounce.suppress) return 'for_good'
  return bounce.type === 'Transient' && !bounce.ours ? 'soft' : 'no'
}
