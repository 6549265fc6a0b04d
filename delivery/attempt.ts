// One delivery: compose, send, mark before the dot, settle. Commits are shared with the deliveries beside it.
import type { ClaimedDelivery } from '../db/deliveries/claim.ts'
import { markDataSent } from '../db/deliveries/mark.ts'
import type { Settlement } from '../db/deliveries/settle.ts'
import { isUnavailable } from '../db/failures.ts'
import { verpAddress } from '../mail/tracking/mailboxes.ts'
import type { Outcome } from '../mail/transport.ts'
import { addressDomain } from '../rules/addresses.ts'
import { createBatcher } from '../runtime/batcher.ts'
import { createTrace, toAttempt } from './attemptRow.ts'
import { createComposer } from './compose/composer.ts'
import type { ActivityDeps } from './deps.ts'
import { settleAndTell } from './lane/settle.ts'
import { createWaitingLines } from './lane/waitingLines.ts'
import { toSettlement } from './nextState.ts'

const GROUP_MAX = 500
const SETTLE_TRIES = 5
/** Under load; a settlement alone is written at once. */
const SETTLE_GATHER_MS = 10
const SETTLE_PAUSE_MS = 500
const SETTLE_PAUSE_MS_MAX = 2_000

/** A function that sees one claimed delivery through; it never throws. */
export function createDelivery(deps: ActivityDeps, leaseToken: string) {
  const { db, log, now, config, transport, metrics } = deps
  const useEmail = createComposer(deps)
  const verpMac = deps.secrets.mac('verp')
  const lines = createWaitingLines()

  const mark = createBatcher(async (ids: number[]) => {
    const marked = await markDataSent(db, ids, leaseToken)
    return ids.map((id) => marked.has(id))
  }, GROUP_MAX)

  // Nothing on the wire waits for a settlement: a few at a time cost Postgres more than many.
  const settle = createBatcher(
    async (group: { settlement: Settlement; hasContact: boolean }[]) => {
      const told = new Set(
        group.flatMap(({ settlement, hasContact }) => (hasContact ? settlement.id : [])),
      )
      const settlements = group.map(({ settlement }) => settlement)
      await settleAndTell(deps, settlements, leaseToken, (id) => told.has(id))
      return group.map(() => undefined)
    },
    GROUP_MAX,
    SETTLE_GATHER_MS,
  )

  /** The outcome is known only here: it is written again and again, for as long as the database is away. */
  const settleSurely = async (settlement: Settlement, hasContact: boolean) => {
    for (let tries = 1; ; tries++) {
      try {
        return await settle({ settlement, hasContact })
      } catch (err) {
        const away = isUnavailable(err) && !deps.stopping.aborted
        if (tries >= SETTLE_TRIES && !away) throw err
        log.warn({ err, delivery_id: settlement.id }, 'an outcome was not written; trying again')
        const pause_ms = Math.min(SETTLE_PAUSE_MS * tries, SETTLE_PAUSE_MS_MAX)
        await new Promise((resolve) => setTimeout(resolve, pause_ms))
      }
    }
  }

  /** What was not tried comes back when it is its turn. */
  const inLine = (recipient: string, outcome: Outcome): Outcome => {
    const domain = addressDomain(recipient).toLowerCase()
    const time = now().getTime()
    if (outcome.kind !== 'busy') {
      lines.took(domain, time)
      return outcome
    }
    return { ...outcome, retryAfter_ms: lines.join(domain, outcome.retryAfter_ms, time) }
  }

  return async (delivery: ClaimedDelivery): Promise<void> => {
    const fields = { delivery_id: delivery.id, email_id: delivery.email_id }
    // Set when the database was away before the dot: no fault of the mail's, which is due again at once.
    let away = false
    let composed = true
    const trace = createTrace()
    let startedAt = now()
    try {
      const { outcome, acceptedAt, transactional } = await useEmail(
        delivery.email_id,
        async (email) => {
          const from = verpAddress(verpMac, delivery.id, email.mailFromDomain)
          const envelope = { from, to: delivery.recipient, bytes: email.bytes.length }
          const beforeDot = () =>
            mark(delivery.id).catch((err: unknown) => {
              away = isUnavailable(err)
              throw err
            })
          startedAt = now()
          const sent = await transport.send(envelope, email.bytes, beforeDot, trace)
          metrics?.attempted(sent, trace)
          return { ...email, outcome: inLine(delivery.recipient, sent) }
        },
        delivery.id,
      ).catch((err: unknown) => {
        // A mail that cannot be composed or signed never goes out otherwise: it waits for a repair.
        away = isUnavailable(err)
        composed = false
        if (!away) log.error({ err, ...fields }, 'a mail could not be composed')
        const outcome: Outcome = {
          kind: 'failed',
          phase: 'body',
          error: 'the mail could not be composed',
        }
        return { outcome, acceptedAt: now().getTime(), transactional: true }
      })
      const settlement = away
        ? backInQueue(delivery, now())
        : toSettlement(outcome, {
            delivery,
            acceptedAt,
            now: now().getTime(),
            reportingMta: config.ehloName,
            resendUnknown: config.resendUnknown && transactional,
            random: Math.random(),
            ours: !composed,
          })
      const times = { attempt: delivery.attempt, startedAt, endedAt: now() }
      const attempt = away ? null : toAttempt(outcome, trace, times)
      if (settlement) await settleSurely({ ...settlement, attempt }, delivery.has_contact)
      log.debug({ ...fields, outcome: outcome.kind, attempt: delivery.attempt }, 'attempt ended')
    } catch (err) {
      log.error({ err, ...fields }, 'an attempt ended without a settlement; its lease will expire')
    }
  }
}

/** Due again at once, as if it had not been claimed. */
function backInQueue({ id, resent, was, last_response }: ClaimedDelivery, now: Date): Settlement {
  const nothing = { response: last_response, event: null, suppress: 'no', attempt: null } as const
  return { ...nothing, id, state: was, nextAt: now, resent, counted: false }
}
