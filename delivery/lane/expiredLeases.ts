// Takes over deliveries whose worker died. Without the mark `data_sent` a delivery is queued again; with it, the
// message may have been delivered.

import { transact } from '../../commands/transact.ts'
import {
  type ExpiredLease,
  forgetClaims,
  listExpiredLeases,
  listMarked,
} from '../../db/deliveries/leases.ts'
import type { ShardRange } from '../../db/deliveries/lines.ts'
import type { Settlement } from '../../db/deliveries/settle.ts'
import { listEmailCategories } from '../../db/emails/contents.ts'
import type { DeliveryDeps } from '../deps.ts'
import { toSettlement } from '../nextState.ts'
import { settle } from './settle.ts'

const BATCH_MAX = 500

/** Settles deliveries whose lease has expired. @returns true if there were any, so that some may be due now */
export async function recoverExpired(deps: DeliveryDeps, shards: ShardRange): Promise<boolean> {
  const { db, now, log } = deps
  const time = now()
  while (await transact.one(deps, ({ db: trx }) => forgetClaims(trx, shards))) {}
  const expired = await listExpiredLeases(db, shards, BATCH_MAX)
  if (expired.length === 0) return false
  const settlements = await toSettlements(deps, expired, time)
  log.warn({ count: settlements.length }, 'leases expired: their deliveries were taken over')
  await settle(deps, settlements, null)
  return true
}

/** Of deliveries that are under way when the process must end, settles those that are marked as if it had died. */
export async function settleMarked(
  deps: DeliveryDeps,
  left: readonly { id: number }[],
  leaseToken: string,
): Promise<void> {
  const ids = left.map(({ id }) => id)
  const marked = await listMarked(deps.db, ids, leaseToken)
  if (marked.length === 0) return
  deps.log.warn({ count: marked.length }, 'no reply came before the end of this process')
  await settle(deps, await toSettlements(deps, marked, deps.now()), leaseToken)
}

/** What becomes of deliveries whose worker cannot say how they ended. */
async function toSettlements(
  { db, config }: Pick<DeliveryDeps, 'db' | 'config'>,
  expired: readonly ExpiredLease[],
  time: Date,
): Promise<Settlement[]> {
  const emails = await listEmailCategories(db, [...new Set(expired.map((row) => row.email_id))])
  return expired.flatMap((delivery): Settlement | [] => {
    if (delivery.state === 'sending') {
      const { id, resent } = delivery
      const attempt = unfinished(
        delivery,
        'interrupted',
        'the worker ended before the message',
        time,
      )
      const back = { state: 'queued', nextAt: time, counted: true, suppress: 'no' } as const
      const leaves = delivery.state
      return { ...back, id, leaves, resent, response: null, event: null, attempt }
    }
    const email = emails.get(delivery.email_id)
    const outcome = { kind: 'ambiguous', error: 'the worker ended before the reply' } as const
    const settlement = toSettlement(outcome, {
      delivery: { ...delivery, was: 'queued' },
      acceptedAt: email?.acceptedAt ?? time.getTime(),
      now: time.getTime(),
      reportingMta: config.ehloName,
      resendUnknown: config.resendUnknown && (email?.transactional ?? false),
      random: Math.random(),
      ofRelay: config.deliveryMode === 'relay',
    })
    if (!settlement) return []
    // The former owner may be alive and may have marked it since the list was read. `leaves` makes this settlement
    // do nothing then.
    return {
      ...settlement,
      leaves: delivery.state,
      attempt: unfinished(delivery, outcome.kind, outcome.error, time),
    }
  })
}

/** The row of an attempt whose worker died before it could write one. */
function unfinished({ attempt }: ExpiredLease, outcome: string, response: string, found: Date) {
  const nothing = { phase: null, code: null, host: null, address: null, tls: null }
  return {
    ...nothing,
    attempt,
    started_at: found,
    ended_at: found,
    outcome,
    response,
    conversation: '',
  }
}
