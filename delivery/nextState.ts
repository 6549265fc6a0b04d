// Decides the next state of a delivery from the outcome of an attempt. Pure.
import type { ClaimedDelivery } from '../db/deliveries/claim.ts'
import type { Settlement } from '../db/deliveries/settle.ts'
import { isUnknownDomain } from '../mail/dns/mxHosts.ts'
import type { Outcome, Rejection } from '../mail/transport.ts'
import {
  type Bounce,
  classifyReply,
  retriesExhausted,
  suppressionBy,
  undetermined,
} from '../rules/mail/bounceRules.ts'
import { nextAttempt } from '../rules/mail/retry.ts'
import { shardOf } from '../rules/shard.ts'

/**
 * The response of an unknown outcome: the connection ended after the final dot and before the reply (RFC 1047).
 */
export const UNKNOWN_RESPONSE = 'unknown: connection lost after the end of data'

export interface SettleContext {
  delivery: Pick<
    ClaimedDelivery,
    'id' | 'attempt' | 'expires_at' | 'resent' | 'last_response' | 'was'
  >
  /** When this service accepted the email, ms. */
  acceptedAt: number
  now: number
  /** Our EHLO name. */
  reportingMta: string
  /** Whether this email may be sent once more after an unknown outcome. */
  resendUnknown: boolean
  /** 0 ≤ x < 1 */
  random: number
  /** Whether the server that refuses is the relay that all mail goes to. */
  ofRelay: boolean
  /** Whether the DNS has not known the recipient's domain for a day (missingDomains.ts). Absent: no. */
  isDomainGone?: boolean
}

/**
 * What a refusal means; null for any other outcome. Where its `fault` is `ours`, `speaksOf` says what would be
 * refused again: the sender, the network address or the account.
 */
export function refusalOf(outcome: Outcome, ofRelay: boolean): Bounce | null {
  return outcome.kind === 'rejected' ? classifyReply({ ...outcome, ofRelay }) : null
}

/** The row's next state; null if the lease was lost, because then another lane decides. */
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
      return tryAgain(context, { response, reply: null, bounce: retriesExhausted })
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

/** The server refused: the rules say whether that ends the mail. */
function afterReply(outcome: Rejection, context: SettleContext): Settlement {
  const response = outcome.reply
  const bounce = classifyReply({ ...outcome, ofRelay: context.ofRelay })
  // A domain counts as nonexistent when two attempts in a row, half an hour apart, do not find it.
  const confirmed = isUnknownDomain(response) && isUnknownDomain(context.delivery.last_response)
  if (!bounce.final && !confirmed) return tryAgain(context, { response, reply: response, bounce })
  const ended = asBounced(context, response, bounce)
  return confirmed && context.isDomainGone ? { ...ended, suppress: 'for_a_month' } : ended
}

/** Nothing was tried: the delivery returns to its former state, unless it has expired. */
function afterBusy(
  outcome: Extract<Outcome, { kind: 'busy' }>,
  context: SettleContext,
): Settlement {
  const { delivery, now } = context
  if (now >= delivery.expires_at.getTime()) return afterWaiting(context, outcome.error)
  const { elsewhere, retryAfter_ms } = outcome
  const back = { state: delivery.was, counted: false, response: delivery.last_response }
  if (elsewhere === undefined) {
    return settled(context, { ...back, nextAt: new Date(now + retryAfter_ms) })
  }
  return settled(context, {
    ...back,
    moveTo: { destination: elsewhere, shard: shardOf(elsewhere) },
  })
}

/** How long after its expiry a mail may still be tried whose last attempt was planned for that moment. */
const LAST_ATTEMPT_MS = 60_000

/**
 * The settlement of a claimed delivery that has expired while it waited: as after the last retry, without an attempt. null
 * if it may be tried.
 */
export function afterExpiry(
  context: SettleContext & { delivery: Pick<ClaimedDelivery, 'next_at'> },
): Settlement | null {
  const { delivery, now } = context
  const expiresAt = delivery.expires_at.getTime()
  if (now < expiresAt) return null
  // The last attempt is planned for the expiry itself, and a claim comes some moments later.
  const isLast = delivery.next_at.getTime() >= expiresAt && now < expiresAt + LAST_ATTEMPT_MS
  if (isLast) return null
  const response = delivery.last_response ?? 'it expired before it could be tried'
  return { ...afterWaiting(context, response), counted: false }
}

/** It expired without an attempt since the last one. */
function afterWaiting(context: SettleContext, response: string): Settlement {
  return hasArrivedPerhaps(context, context.delivery.last_response)
    ? asUnknown(context)
    : asBounced(context, response, retriesExhausted)
}

/** Whether nobody knows how the first sending of a mail ended that is sent once more, and no server has refused that since. */
function hasArrivedPerhaps({ delivery }: SettleContext, lastResponse: string | null): boolean {
  return delivery.resent > 0 && !/^\d{3}/.test(lastResponse ?? '')
}

/**
 * The settlement of a claimed delivery that must not be tried any more, since it ended worker after worker: no server has
 * said anything, so it is no bounce of the recipient, and suppresses nobody.
 */
export function afterGivenUp(context: SettleContext, why: string): Settlement {
  return { ...asBounced(context, why, undetermined), counted: false }
}

/** No reply came after the final dot: the message may have been delivered. */
function afterSilence(context: SettleContext): Settlement {
  const { delivery, now, resendUnknown } = context
  const mayResend = resendUnknown && delivery.resent === 0 && now < delivery.expires_at.getTime()
  if (!mayResend) return asUnknown(context)
  return settled(context, {
    state: 'queued',
    nextAt: new Date(now),
    response: UNKNOWN_RESPONSE,
    resent: 1,
  })
}

/** It may have arrived, and is not sent again. */
function asUnknown(context: SettleContext): Settlement {
  const response = UNKNOWN_RESPONSE
  return settled(context, { state: 'unknown', response, event: delivered(context, response) })
}

/**
 * @param why `reply`: the server's reply, which may name a time for the next try; null if there was none. `bounce`:
 * what the mail shows if it has expired
 */
function tryAgain(
  context: SettleContext,
  why: { response: string; reply: string | null; bounce: Bounce },
): Settlement {
  const { delivery, now, random } = context
  const next = nextAttempt({
    attempt: delivery.attempt,
    now,
    expiresAt: delivery.expires_at.getTime(),
    reply: why.reply,
    random,
    isOurs: why.bounce.fault === 'ours',
  })
  const { response } = why
  if (next.kind === 'retry') {
    return settled(context, { state: 'deferred', nextAt: new Date(next.at), response })
  }
  if (hasArrivedPerhaps(context, response)) return asUnknown(context)
  return asBounced(context, response, why.bounce)
}

function asBounced(context: SettleContext, response: string, bounce: Bounce): Settlement {
  const event = bounced(context, bounce)
  return settled(context, { state: 'bounced', response, event, suppress: suppressionBy(bounce) })
}
