// One attempt of a delivery: compose, send, mark before the final dot, settle. Deliveries under way share their
// commits.
import { transact } from '../commands/transact.ts'
import type { ClaimedDelivery } from '../db/deliveries/claim.ts'
import { markDataSent } from '../db/deliveries/mark.ts'
import { isUnavailable } from '../db/failures.ts'
import { verpAddress } from '../mail/tracking/mailboxes.ts'
import type { Envelope, Outcome } from '../mail/transport.ts'
import { addressDomain } from '../rules/addresses.ts'
import { mailClasses } from '../rules/mail/classes.ts'
import { createBatcher } from '../runtime/batcher.ts'
import { NotAlone } from '../runtime/gate.ts'
import { type Attempted, createDecisions } from './afterAttempt.ts'
import { createTrace } from './attemptRow.ts'
import type { UseEmail } from './compose/composer.ts'
import { NoHeavyPlace } from './compose/heavyPlaces.ts'
import { GivenUp } from './compose/mailGuard.ts'
import type { DeliveryDeps } from './deps.ts'
import { keepTime, movedAlong } from './heldTime.ts'
import type { LaneLeases } from './lane/leases.ts'
import type { Outcomes } from './lane/outcomes.ts'
import { createSettler } from './lane/settleSurely.ts'
import { mayGoTo } from './lane/shards.ts'
import { afterExpiry, toSettlement } from './nextState.ts'
import { passPoint } from './points.ts'
import { readRefusal } from './readRefusal.ts'
import { createTestAnswers, isSimulated } from './testAddresses.ts'

const GROUP_MAX = 500
/** How long marks are gathered under load: a group of ten costs little more than one. The look follows, and then the dot. */
const MARK_GATHER_MS = 1

/** Mail with attachments that finds no place, and a suspect that finds no moment to be composed, come back after one to three times this time. */
const PLACE_MS = 1_000

/** What of a lane its attempts need. */
interface OfLane {
  leases: LaneLeases
  outcomes: Outcomes
  useEmail: UseEmail
  /** Called with a delivery that could not be marked: nothing was sent. */
  onLost: (delivery: ClaimedDelivery) => Promise<void>
}

/**
 * Makes a function that runs one attempt of a claimed delivery and settles it. It never throws. It calls `onSent` when a server has
 * taken the mail, before the settlement is written.
 */
export function createDelivery(deps: DeliveryDeps, lane: OfLane) {
  const { leases, outcomes, useEmail, onLost } = lane
  const { log, now, metrics, config } = deps
  const attempt = createAttempt(deps, leases, useEmail)
  const settleSurely = createSettler(deps, leases.token, outcomes)
  const { contextAt, settlementOf } = createDecisions(deps)
  const answerForTest = createTestAnswers(deps, lane, settleSurely)

  return async (delivery: ClaimedDelivery, onSent: () => void): Promise<void> => {
    const fields = { delivery_id: delivery.id, email_id: delivery.email_id }
    try {
      const since = now()
      const moved = movedAlong(delivery, deps.breakers.heldFor(delivery))
      const expired = afterExpiry({ ...contextAt(now()), delivery: moved })
      if (expired) return await settleSurely(expired)
      if (isSimulated(delivery, config.simulatorDomain)) return await answerForTest(delivery)
      const admission = await deps.breakers.admit(delivery)
      if (admission.kind === 'busy') {
        const untried = toSettlement(admission, { delivery: moved, ...contextAt(now()) })
        if (!untried) return
        return await settleSurely(keepTime(untried, { delivery, moved, isHeld: true, since }))
      }
      // No dot follows for what would be given up if it were claimed now.
      const isOver = () => afterExpiry({ ...contextAt(now()), delivery: moved }) !== null
      const tried = await attempt(delivery, isOver)
      const { refusal, givenUp } = tried
      admission.ended(tried.isUncomposed ? null : tried.outcome, refusal)
      if (refusal) metrics?.refused(refusal)
      if (tried.outcome.kind === 'delivered') onSent()
      const settlement = await settlementOf({ delivery, moved, since }, tried)
      if (settlement) await settleSurely(settlement)
      else await onLost(delivery)
      if (givenUp) deps.blame.gaveUp(givenUp.kind, givenUp.id)
      const { kind } = tried.outcome
      log.debug({ ...fields, outcome: kind, attempt: delivery.attempt }, 'attempt ended')
    } catch (err) {
      log.error({ err, ...fields }, 'an attempt ended without a settlement; its lease will expire')
    }
  }
}

const toRecipient = (
  delivery: ClaimedDelivery,
  { shards }: LaneLeases,
  { from, bytes, octets }: Pick<Envelope, 'from' | 'bytes' | 'octets'>,
): Envelope => ({
  from,
  bytes,
  octets,
  to: delivery.recipient,
  class: mailClasses[delivery.class] ?? mailClasses[0],
  mayGoTo: (destination: string) => mayGoTo(delivery, destination, shards),
})

/** Makes the function that marks a delivery `data_sent`, unless its lease has ended or its recipient has left. Marks share commits. */
function createMark(deps: DeliveryDeps, leases: LaneLeases) {
  return createBatcher(
    async (ids: number[]) => {
      for (const id of ids) passPoint('mark', id)
      const marked = await transact.one(deps, ({ db }) =>
        markDataSent(db, ids, leases.token, deps.now(), leases.owner),
      )
      for (const id of marked) passPoint('marked', id)
      return ids.map((id) => marked.has(id))
    },
    GROUP_MAX,
    { gather_ms: MARK_GATHER_MS },
  )
}

/** Makes the function that composes and sends. It commits `data_sent` before the final dot. */
function createAttempt(deps: DeliveryDeps, leases: LaneLeases, useEmail: UseEmail) {
  const { log, now, transport, metrics } = deps
  const ofRelay = deps.config.deliveryMode === 'relay'
  const verpMac = deps.secrets.mac('verp')

  const mark = createMark(deps, leases)

  return async (delivery: ClaimedDelivery, isOver: () => boolean): Promise<Attempted> => {
    const trace = createTrace()
    let startedAt = now()
    let away = false
    passPoint('compose', delivery.id)
    try {
      return await useEmail(
        delivery.email_id,
        async ({ message, mailFromDomain, octets, acceptedAt, transactional, readReply }) => {
          const from = verpAddress(verpMac, delivery.id, mailFromDomain)
          const bytes = message.length
          const envelope = toRecipient(delivery, leases, { from, bytes, octets })
          passPoint('composed', delivery.id)
          const beforeDot = async () => {
            try {
              const isMarked = !isOver() && (await mark(delivery.id))
              // This process was frozen after the mark: the lease has ended, and the dot must not follow.
              away = isMarked && !leases.isValid(delivery)
              return isMarked && !away
            } catch (err) {
              away = isUnavailable(err)
              throw err
            }
          }
          startedAt = now()
          const sent = await transport.send(envelope, message, beforeDot, trace)
          passPoint('replied', delivery.id)
          metrics?.attempted(sent, trace)
          const { outcome, refusal } = await readRefusal(sent, readReply, ofRelay)
          const made = { outcome, refusal, acceptedAt, transactional, trace, startedAt }
          return { ...made, away, isUncomposed: false, givenUp: null }
        },
        delivery,
        addressDomain(delivery.recipient).toLowerCase(),
      )
    } catch (err) {
      const untried = afterFault(err)
      if (untried.isFault) {
        const fields = { delivery_id: delivery.id, email_id: delivery.email_id }
        log.error({ err, ...fields }, 'a message could not be composed')
      }
      const acceptedAt = now().getTime()
      return { ...untried, refusal: null, acceptedAt, transactional: true, trace, startedAt }
    }
  }
}

/** What an error means that kept a mail from being sent, and whether it is a fault that nobody has said yet. */
function afterFault(
  err: unknown,
): Pick<Attempted, 'outcome' | 'away' | 'isUncomposed' | 'givenUp'> & { isFault: boolean } {
  if (err instanceof NoHeavyPlace || err instanceof NotAlone) {
    const retryAfter_ms = PLACE_MS * (1 + 2 * Math.random())
    const outcome: Outcome = { kind: 'busy', error: err.message, retryAfter_ms }
    return { outcome, away: false, isUncomposed: false, givenUp: null, isFault: false }
  }
  // A message that cannot be composed or signed is not sent in another form: its delivery is tried again later.
  const away = isUnavailable(err)
  const givenUp = err instanceof GivenUp ? err : null
  const outcome: Outcome = {
    kind: 'failed',
    phase: 'body',
    error: 'the mail could not be composed',
  }
  return { outcome, away, isUncomposed: true, givenUp, isFault: !away && !givenUp }
}
