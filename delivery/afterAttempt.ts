// Decides what becomes of an attempt: its settlement, with the turn of an untried delivery, the expiry to store, and whether
// the recipient's domain is gone.
import type { ClaimedDelivery } from '../db/deliveries/claim.ts'
import type { Settlement } from '../db/deliveries/settle.ts'
import type { Outcome, Trace } from '../mail/transport.ts'
import { addressDomain } from '../rules/addresses.ts'
import type { Bounce } from '../rules/mail/bounceRules.ts'
import { toAttempt } from './attemptRow.ts'
import type { GivenUp } from './compose/mailGuard.ts'
import type { DeliveryDeps } from './deps.ts'
import { keepTime } from './heldTime.ts'
import { createWaitingLines } from './lane/waitingLines.ts'
import { createMissingDomains } from './missingDomains.ts'
import { afterGivenUp, toSettlement } from './nextState.ts'

/** The result of an attempt. */
export interface Attempted {
  outcome: Outcome
  /** What the outcome refuses. */
  refusal: Bounce | null
  acceptedAt: number
  transactional: boolean
  /** The message could not be composed: the fault is in this service. */
  isUncomposed: boolean
  /** The database or this process was away before the dot, so nothing was sent: the delivery is due again at once. */
  away: boolean
  /** It was not tried, and must not be tried again. */
  givenUp: GivenUp | null
  trace: Trace
  startedAt: Date
}

/**
 * Makes `settlementOf`, which decides what becomes of an attempt, and `contextAt`, which makes what such decisions know of
 * this service at a time.
 */
export function createDecisions(deps: DeliveryDeps) {
  const { now, config } = deps
  const inLine = createTurns(now)
  const ofRelay = config.deliveryMode === 'relay'
  const isGone = ofRelay ? async () => false : createMissingDomains(deps)
  const contextAt = (time: Date) => ({
    now: time.getTime(),
    reportingMta: config.ehloName,
    resendUnknown: false,
    random: Math.random(),
    acceptedAt: 0,
    ofRelay,
  })

  /** What becomes of an attempt; null if the lease was lost. */
  const settlementOf = async (
    { delivery, moved, since }: { delivery: ClaimedDelivery; moved: ClaimedDelivery; since: Date },
    tried: Attempted,
  ): Promise<Settlement | null> => {
    const { refusal, givenUp } = tried
    if (givenUp) return afterGivenUp({ delivery: moved, ...contextAt(now()) }, givenUp.message)
    const outcome = tried.isUncomposed ? tried.outcome : inLine(delivery.recipient, tried.outcome)
    const domain = addressDomain(delivery.recipient).toLowerCase()
    const isDomainGone = await isGone(domain, tried.trace)
    const settlement = tried.away
      ? backInQueue(delivery, now())
      : toSettlement(outcome, {
          delivery: moved,
          ...contextAt(now()),
          acceptedAt: tried.acceptedAt,
          resendUnknown: config.resendUnknown && tried.transactional,
          isDomainGone,
        })
    if (!settlement) return null
    const times = { attempt: delivery.attempt, startedAt: tried.startedAt, endedAt: now() }
    const attempt = tried.away ? null : toAttempt(outcome, tried.trace, times)
    const isHeld = refusal?.fault === 'ours' && deps.breakers.isOpenFor(delivery)
    return keepTime({ ...settlement, attempt }, { delivery, moved, isHeld, since })
  }
  return { contextAt, settlementOf }
}

/** Makes a function that gives an untried delivery (`busy`) its turn in the waiting line of its domain. */
function createTurns(now: () => Date) {
  const lines = createWaitingLines()
  return (recipient: string, outcome: Outcome): Outcome => {
    const domain = addressDomain(recipient).toLowerCase()
    const time = now().getTime()
    if (outcome.kind !== 'busy') {
      lines.took(domain, time)
      return outcome
    }
    if (outcome.elsewhere !== undefined) return outcome
    return { ...outcome, retryAfter_ms: lines.join(domain, outcome.retryAfter_ms, time) }
  }
}

/** A settlement that makes a delivery due again at once, as if it had not been claimed. */
function backInQueue(delivery: ClaimedDelivery, now: Date): Settlement {
  const { id, resent, was, last_response } = delivery
  const nothing = { response: last_response, event: null, suppress: 'no', attempt: null } as const
  const again = { state: was, nextAt: now, counted: false }
  return { ...nothing, ...again, id, resent }
}
