// Takes over deliveries whose worker died. Without the mark `data_sent` a delivery is queued again; with it, the
// message may have been delivered.

import { transact } from '../../commands/transact.ts'
import {
  type ExpiredLease,
  forgetClaims,
  listExpiredLeases,
  listMarked,
  type NotePlace,
} from '../../db/deliveries/leases.ts'
import type { ShardRange } from '../../db/deliveries/lines.ts'
import type { Settlement } from '../../db/deliveries/settle.ts'
import { listEmailCategories } from '../../db/emails/contents.ts'
import type { DeliveryDeps } from '../deps.ts'
import { toSettlement } from '../nextState.ts'
import { takesNothing, writeGroupOrEach } from '../writeGroupOrEach.ts'
import { settle } from './settle.ts'

const BATCH_MAX = 500
/** In one pass so many pages of notes are looked at for what may be forgotten. The next pass goes on. */
const FORGET_ROUNDS_MAX = 50

/**
 * Makes the function that settles deliveries whose lease has expired, and forgets the notes of claims that have ended. It
 * does nothing while a call before has not ended. @returns true if some were settled, so that some may be due now
 */
export function createRecovery(deps: DeliveryDeps, shards: ShardRange): () => Promise<boolean> {
  let isUnderWay = false
  let forgetAfter: NotePlace | undefined

  /** Workers of the release before note each delivery by itself and forget nothing, so there may be very many notes. */
  async function forget(): Promise<void> {
    for (let round = 0; round < FORGET_ROUNDS_MAX; round++) {
      const next = await transact.one(deps, ({ db }) => forgetClaims(db, shards, forgetAfter))
      forgetAfter = next ?? undefined
      if (!next) return
    }
  }

  return async () => {
    if (isUnderWay) return false
    isUnderWay = true
    try {
      await forget()
      return await recoverExpired(deps, shards)
    } finally {
      isUnderWay = false
    }
  }
}

/** Settles deliveries whose lease has expired. @returns whether there were any */
async function recoverExpired(deps: DeliveryDeps, shards: ShardRange): Promise<boolean> {
  let count = 0
  let after: NotePlace | undefined
  do {
    const { leases, next } = await listExpiredLeases(deps.db, shards, after)
    for (let i = 0; i < leases.length; i += BATCH_MAX) {
      await takeOver(deps, leases.slice(i, i + BATCH_MAX))
    }
    count += leases.length
    after = next ?? undefined
  } while (after)
  return count > 0
}

/** Settles some of them. One that Postgres refuses, or that somebody holds, keeps no other from it: the next look finds it again. */
async function takeOver(deps: DeliveryDeps, expired: readonly ExpiredLease[]): Promise<void> {
  const settlements = await toSettlements(deps, expired, deps.now())
  deps.log.warn({ count: settlements.length }, 'leases expired: their deliveries were taken over')
  const faults = await writeGroupOrEach(settlements, (some) => settle(deps, some, null))
  if (takesNothing(faults)) throw faults.find((err) => err !== undefined)
  for (const [i, err] of faults.entries()) {
    const delivery_id = settlements[i]?.id
    if (err)
      deps.log.error({ err, delivery_id }, 'a delivery could not be taken over; it is tried again')
  }
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
