// A domain that is warming up, and lanes that claim its mail and let through what has a place.
import { sql } from 'kysely'
import { transact } from '../../commands/transact.ts'
import type { Db } from '../../db/connect.ts'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import { readyDue } from '../../db/deliveries/ready.ts'
import { createWarmUp } from '../../delivery/lane/warmUp.ts'
import { claimInTrx } from './claims.ts'
import { seedWorkspace } from './harness.ts'
import { allLines, rights } from './queue.ts'
import { bringTo } from './states.ts'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
export const START_MS = Date.UTC(2026, 2, 2, 9)
export const wake = () => undefined
/** Breakers that have held nothing. */
export const neverOpen = { heldFor: () => 0 }

/** Claims, and says what of it may be sent now. */
export type Lane = (
  limit: number,
) => Promise<{ claimed: ClaimedDelivery[]; sent: ClaimedDelivery[] }>

export function createColdDomains(db: Db) {
  return {
    /** A lane of 16 shards with a clock that all lanes share. */
    createLane(lane: number, clock: { ms: number }): Lane {
      const leaseToken = `00000000-0000-0000-0000-00000000000${lane}`
      const now = () => new Date(clock.ms)
      const config = { warmUp: true } as Parameters<typeof createWarmUp>[0]['config']
      const gate = createWarmUp({ db, now, wake, config, breakers: neverOpen }, leaseToken)
      const shards = { from: lane * 16, to: lane * 16 + 16 }
      return async (limit) => {
        const claim = { ...allLines(limit, shards), leaseToken, leaseMs: HOUR_MS, now: now() }
        await transact.one({ db, wake }, (inTrx) =>
          readyDue(inTrx.db, shards, now(), { perShard: 10_000, rights }),
        )
        const { deliveries: claimed } = await transact.one({ db, wake }, (inTrx) =>
          claimInTrx(inTrx.db, claim),
        )
        return { claimed, sent: await gate(claimed) }
      }
    },

    async settle(sent: ClaimedDelivery[], now: Date): Promise<void> {
      const ids = sent.map(({ id }) => id)
      await bringTo(db, { ids }, 'delivered', now)
    },

    /** A new workspace whose domain has sent nothing, and an empty queue. */
    async seedCold() {
      const { workspaceId, domainId } = await seedWorkspace(db)
      await db.updateTable('domains').set({ is_warmed_up: false, warmed_up_at: null }).execute()
      await sql`truncate deliveries, domain_days`.execute(db)
      return { workspaceId, domainId }
    },

    async daysOf(domainId: string) {
      const { rows } = await sql<{ day: string; reserved: number }>`
        select day::text, reserved from domain_days where domain_id = ${domainId} order by day
      `.execute(db)
      return rows
    },
  }
}
