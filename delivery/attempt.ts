// One attempt of a delivery: compose, send, mark before the final dot, settle. Deliveries under way share their
// commits.
import { transact } from '../commands/transact.ts'
import type { ClaimedDelivery } from '../db/deliveries/claim.ts'
import { markDataSent } from '../db/deliveries/mark.ts'
import type { Settlement } from '../db/deliveries/settle.ts'
import { isUnavailable } from '../db/failures.ts'
import { verpAddress } from '../mail/tracking/mailboxes.ts'
import type { Outcome, Trace } from '../mail/transport.ts'
import { addressDomain } from '../rules/addresses.ts'
import { mailClasses } from '../rules/mail/classes.ts'
import { createBatcher } from '../runtime/batcher.ts'
import { createTrace, toAttempt } from './attemptRow.ts'
import type { UseEmail } from './compose/composer.ts'
import { NoHeavyPlace } from './compose/heavyPlaces.ts'
import type { DeliveryDeps } from './deps.ts'
import type { LaneLeases } from './lane/leases.ts'
import { settleEach } from './lane/settle.ts'
import { createWaitingLines } from './lane/waitingLines.ts'
import { afterExpiry, refusalOf, toSettlement } from './nextState.ts'
import { passPoint } from './points.ts'
import { createUnknownDomains } from './unknownDomains.ts'

const GROUP_MAX = 500
const SETTLE_TRIES = 5
/** How long settlements are gathered under load; a single one is written at once. */
const SETTLE_GATHER_MS = 10
const SETTLE_PAUSE_MS = 500
const SETTLE_PAUSE_MS_MAX = 2_000

/** Mail with attachments that finds no place comes back after one to three times this time. */
const PLACE_MS = 1_000

/** The result of an attempt. */
interface Attempted {
  outcome: Outcome
  acceptedAt: number
  transactional: boolean
  /** The message could not be composed: the fault is in this service. */
  ours: boolean
  /** The database or this process was away before the dot, so nothing was sent: the delivery is due again at once. */
  away: boolean
  trace: Trace
  startedAt: Date
}

/**
 * Makes a function that runs one attempt of a claimed delivery and settles it. It never throws.
 * @param onLost called with a delivery that could not be marked: nothing was sent
 */
export function createDelivery(
  deps: DeliveryDeps,
  leases: LaneLeases,
  useEmail: UseEmail,
  onLost: (delivery: ClaimedDelivery) => Promise<void>,
) {
  const { log, now, config, metrics } = deps
  const attempt = createAttempt(deps, leases, useEmail)
  const settleSurely = createSettling(deps, leases.token)
  const inLine = createTurns(now)
  const ofRelay = config.deliveryMode === 'relay'
  const isGone = ofRelay ? async () => false : createUnknownDomains(deps)
  const ours = (time: Date) => ({
    now: time.getTime(),
    reportingMta: config.ehloName,
    resendUnknown: false,
    random: Math.random(),
    ofRelay,
  })

  return async (delivery: ClaimedDelivery): Promise<void> => {
    const fields = { delivery_id: delivery.id, email_id: delivery.email_id }
    try {
      const expired = afterExpiry({ delivery, ...ours(now()), acceptedAt: 0 })
      if (expired) return await settleSurely(expired)
      const admission = await deps.breakers.admit(delivery)
      if (admission.kind === 'busy') {
        const untried = toSettlement(admission, { delivery, ...ours(now()), acceptedAt: 0 })
        return untried ? await settleSurely(untried) : undefined
      }
      const tried = await attempt(delivery)
      const refusal = refusalOf(tried.outcome, ofRelay)
      admission.ended(tried.ours ? null : tried.outcome, refusal)
      if (refusal) metrics?.refused(refusal)
      const outcome = tried.ours ? tried.outcome : inLine(delivery.recipient, tried.outcome)
      const domain = addressDomain(delivery.recipient).toLowerCase()
      const isDomainGone = await isGone(domain, tried.outcome, tried.trace)
      const settlement = tried.away
        ? backInQueue(delivery, now())
        : toSettlement(outcome, {
            delivery,
            ...ours(now()),
            acceptedAt: tried.acceptedAt,
            resendUnknown: config.resendUnknown && tried.transactional,
            isDomainGone,
          })
      const times = { attempt: delivery.attempt, startedAt: tried.startedAt, endedAt: now() }
      const row = tried.away ? null : toAttempt(outcome, tried.trace, times)
      if (settlement) await settleSurely({ ...settlement, attempt: row })
      else await onLost(delivery)
      log.debug({ ...fields, outcome: outcome.kind, attempt: delivery.attempt }, 'attempt ended')
    } catch (err) {
      log.error({ err, ...fields }, 'an attempt ended without a settlement; its lease will expire')
    }
  }
}

const toRecipient = ({ recipient, class: place }: ClaimedDelivery) => ({
  to: recipient,
  class: mailClasses[place] ?? mailClasses[0],
})

/** Makes the function that marks a delivery `data_sent`, unless its lease has ended. Marks share their commits. */
function createMark(deps: DeliveryDeps, leases: LaneLeases) {
  return createBatcher(async (ids: number[]) => {
    for (const id of ids) passPoint('mark', id)
    const marked = await transact.one(deps, ({ db }) =>
      markDataSent(db, ids, leases.token, deps.now(), leases.owner),
    )
    for (const id of marked) passPoint('marked', id)
    return ids.map((id) => marked.has(id))
  }, GROUP_MAX)
}

/** Makes the function that composes and sends. It commits `data_sent` before the final dot. */
function createAttempt(deps: DeliveryDeps, leases: LaneLeases, useEmail: UseEmail) {
  const { log, now, transport, metrics } = deps
  const verpMac = deps.secrets.mac('verp')

  const mark = createMark(deps, leases)

  return async (delivery: ClaimedDelivery): Promise<Attempted> => {
    const trace = createTrace()
    let startedAt = now()
    let away = false
    passPoint('compose', delivery.id)
    try {
      return await useEmail(
        delivery.email_id,
        async ({ message, mailFromDomain, acceptedAt, transactional }) => {
          const from = verpAddress(verpMac, delivery.id, mailFromDomain)
          const envelope = { ...toRecipient(delivery), from, bytes: message.length }
          passPoint('composed', delivery.id)
          const beforeDot = async () => {
            try {
              const isMarked = await mark(delivery.id)
              // This process was frozen after the mark: the lease has ended, and the dot must not follow.
              away = isMarked && !leases.isValid(delivery)
              return isMarked && !away
            } catch (err) {
              away = isUnavailable(err)
              throw err
            }
          }
          startedAt = now()
          const outcome = await transport.send(envelope, message, beforeDot, trace)
          passPoint('replied', delivery.id)
          metrics?.attempted(outcome, trace)
          const made = { outcome, acceptedAt, transactional, trace, startedAt }
          return { ...made, away, ours: false }
        },
        delivery.id,
        addressDomain(delivery.recipient).toLowerCase(),
      )
    } catch (err) {
      const made = { acceptedAt: now().getTime(), transactional: true, trace, startedAt }
      if (err instanceof NoHeavyPlace) {
        const retryAfter_ms = PLACE_MS * (1 + 2 * Math.random())
        const outcome: Outcome = { kind: 'busy', error: err.message, retryAfter_ms }
        return { ...made, outcome, away: false, ours: false }
      }
      // A message that cannot be composed or signed is not sent in another form: its delivery is tried again
      // later.
      away = isUnavailable(err)
      const fields = { delivery_id: delivery.id, email_id: delivery.email_id }
      if (!away) log.error({ err, ...fields }, 'a message could not be composed')
      const error = 'the mail could not be composed'
      const outcome: Outcome = { kind: 'failed', phase: 'body', error }
      return { ...made, outcome, away, ours: true }
    }
  }
}

/**
 * Makes the function that writes an outcome. Only this process knows it, so it tries for as long as the database
 * is away.
 */
function createSettling(deps: DeliveryDeps, leaseToken: string) {
  // No SMTP session waits for a settlement, so gathering them is free; small groups cost Postgres more than large
  // ones.
  const settleGrouped = createBatcher(
    (group: Settlement[]): Promise<unknown[]> => {
      for (const { id } of group) passPoint('settle', id)
      return settleEach(deps, group, leaseToken)
    },
    GROUP_MAX,
    SETTLE_GATHER_MS,
  )
  return async (settlement: Settlement): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        const fault = await settleGrouped(settlement)
        if (fault !== undefined) throw fault
        passPoint('settled', settlement.id)
        return
      } catch (err) {
        const away = isUnavailable(err) && !deps.stopping.aborted
        if (tries >= SETTLE_TRIES && !away) throw err
        deps.log.warn(
          { err, delivery_id: settlement.id },
          'an outcome was not written; trying again',
        )
        const pause_ms = Math.min(SETTLE_PAUSE_MS * tries, SETTLE_PAUSE_MS_MAX)
        await new Promise((resolve) => setTimeout(resolve, pause_ms))
      }
    }
  }
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
