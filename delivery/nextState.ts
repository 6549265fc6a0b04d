// What an attempt's outcome means for the ledger: pure, from the outcome to the row's next state.
import type { ClaimedDelivery } from '../db/deliveries/claim.ts'
import type { Settlement } from '../db/deliveries/settle.ts'
import { isUnknownDomain } from '../mail/dns/mxHosts.ts'
import type { Outcome, Rejection } from '../mail/transport.ts'
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
  switch (outcome.kind) {
    case 'delivered': {
      const response = outcome.reply
      return settled(context, { state: 'delivered', response, event: delivered(context, response) })
    }
    case 'rejected':
      return afterReply(outcome, context)
    case 'failed': {
      const response = `${outcome.phase}: ${outcome.error}`
      return tryAgain(context, { response, reply: null, ours: context.ours ?? false })
    }
    case 'busy':
      return afterBusy(outcome, context)
    case 'lost_lease':
      return null
    case 'ambiguous':
      return afterSilence(context)
  }
}

function settled(
  { delivery }: SettleContext,
  rest: Partial<Settlement> & Pick<Settlement, 'state'>,
): Settlement {
  return {
    id: delivery.id,
    nextAt: null,
    response: null,
    resent: delivery.resent,
    counted: true,
    event: null,
    suppress: 'no',
    attempt: null,
    ...rest,
  }
}

function delivered({ now, acceptedAt, reportingMta }: SettleContext, response: string) {
  const data = {
    processing_time_millis: Math.max(0, now - acceptedAt),
    reporting_mta: reportingMta,
    smtp_response: response,
  }
  return { status: 'delivered', at: new Date(now), data } as const
}

function bounced({ now }: SettleContext, { type, subtype }: Pick<Bounce, 'type' | 'subtype'>) {
  return { status: 'bounced', at: new Date(now), data: { type, subtype } } as const
}

/** The server refused: for good, or for now. */
function afterReply(outcome: Rejection, context: SettleContext): Settlement {
  const response = outcome.reply
  // A domain that cannot be found twice, half an hour apart, does not exist.
  const confirmed = isUnknownDomain(response) && isUnknownDomain(context.delivery.last_response)
  if (!isFinal(outcome) && !confirmed) {
    return tryAgain(context, { response, reply: response, ours: classifyReply(outcome).ours })
  }
  const bounce = classifyReply(confirmed ? { ...outcome, phase: 'rcpt' } : outcome)
  const event = bounced(context, bounce)
  return settled(context, { state: 'bounced', response, event, suppress: suppressionOf(bounce) })
}

/** Nothing was tried: it goes back as it was, unless its time is over. */
function afterBusy(
  outcome: Extract<Outcome, { kind: 'busy' }>,
  context: SettleContext,
): Settlement {
  const { delivery, now } = context
  if (now >= delivery.expires_at.getTime()) return giveUp(context, outcome.error, 'no')
  return settled(context, {
    state: delivery.was,
    counted: false,
    nextAt: new Date(now + outcome.retryAfter_ms),
    response: delivery.last_response,
  })
}

/** No reply to the dot: it may have been delivered. */
function afterSilence(context: SettleContext): Settlement {
  const response = UNKNOWN_RESPONSE
  if (context.resendUnknown && context.delivery.resent === 0) {
    return settled(context, { state: 'queued', nextAt: new Date(context.now), response, resent: 1 })
  }
  return settled(context, { state: 'unknown', response, event: delivered(context, response) })
}

/** @param why `reply`: what the server said, which may say when; null when it said nothing */
function tryAgain(
  context: SettleContext,
  why: { response: string; reply: string | null; ours: boolean },
): Settlement {
  const { delivery, now, random } = context
  const next = nextAttempt({
    attempt: delivery.attempt,
    now,
    expiresAt: delivery.expires_at.getTime(),
    reply: why.reply,
    random,
  })
  const { response, ours } = why
  if (next.kind === 'retry') {
    return settled(context, { state: 'deferred', nextAt: new Date(next.at), response })
  }
  return giveUp(context, response, suppressionOf({ ...retriesExhausted, ours }))
}

function giveUp(
  context: SettleContext,
  response: string,
  suppress: Settlement['suppress'],
): Settlement {
  const event = bounced(context, retriesExhausted)
  return settled(context, { state: 'bounced', response, event, suppress })
}

/** What a final bounce means for the address: what is our fault means nothing. */
function suppressionOf(bounce: Bounce): Settlement['suppress'] {
  if (bounce.suppress) return 'for_good'
  return bounce.type === 'Transient' && !bounce.ours ? 'soft' : 'no'
}
