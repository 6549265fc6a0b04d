// Takes over deliveries whose owner died: what was not marked goes back, what was marked may have been delivered.
import { listExpiredLeases, type ShardRange } from '../db/deliveries.ts'
import { listEmailCategories } from '../db/emailContents.ts'
import type { ActivityDeps } from './deps.ts'
import { settleAndTell } from './settle.ts'
import { toSettlement } from './settlement.ts'

const BATCH_MAX = 500

/** @returns true when something became due by it */
export async function recoverExpired(deps: ActivityDeps, shards: ShardRange): Promise<boolean> {
  const { db, now, config, log } = deps
  const time = now()
  const expired = await listExpiredLeases(db, shards, time, BATCH_MAX)
  if (expired.length === 0) return false
  const emails = await listEmailCategories(db, [...new Set(expired.map((row) => row.email_id))])
  const settlements = expired.flatMap((delivery) => {
    if (delivery.state === 'sending') {
      return {
        id: delivery.id,
        state: 'queued' as const,
        nextAt: time,
        response: null,
        resent: delivery.resent,
        event: null,
        suppress: false,
      }
    }
    const email = emails.get(delivery.email_id)
    const outcome = { kind: 'ambiguous', error: 'the lane died' } as const
    return (
      toSettlement(outcome, {
        delivery,
        acceptedAt: email?.acceptedAt ?? time.getTime(),
        now: time.getTime(),
        reportingMta: config.ehloName,
        resendUnknown: config.resendUnknown && (email?.transactional ?? false),
        random: Math.random(),
      }) ?? []
    )
  })
  log.warn({ count: settlements.length }, 'leases expired: their deliveries were taken over')
  await settleAndTell(deps, settlements, null)
  return true
}
