// Claims in a transaction that the test has open, on a connection of any settings.
import { sql } from 'kysely'
import type { Trx } from '../../db/connect.ts'
import { claimSettings } from '../../db/deliveries/claim.ts'
import type { ShardRange } from '../../db/deliveries/lines.ts'
import {
  type ClaimAsked,
  type Claims,
  createClaims,
  type LaneClaim,
} from '../../delivery/lane/claims.ts'

/** What one claim of a lane asks, and of which shards. */
export type LaneAsked = ClaimAsked & { shards: ShardRange }

/** What a lane claims on connections that keep `claimSettings`: they hold for the rest of the transaction here. */
export async function applySettings(trx: Trx): Promise<void> {
  await sql`select ${sql.join(
    Object.entries(claimSettings).map(([name, value]) => sql`set_config(${name}, ${value}, true)`),
  )}`.execute(trx)
}

/** A lane that goes on from claim to claim, each in a transaction of its own; it has found all its lines. */
export function createTestLane(shards: ShardRange): {
  claims: Claims
  /** Works in this transaction from now on. */
  use: (trx: Trx) => Promise<void>
} {
  let used: Trx | undefined
  const over = new AbortController()
  const claims = createClaims({
    run: (work) => {
      if (!used) throw new Error('the lane has no transaction')
      return work(used)
    },
    shards,
    quietly: async (_, work) => void (await work()),
    onFound: () => undefined,
    over: over.signal,
  })
  let hasBegun = false
  return {
    claims,
    async use(trx) {
      used = trx
      await applySettings(trx)
      if (hasBegun) return
      hasBegun = true
      await claims.begin()
      // A search beside a later claim would take its transaction from it.
      over.abort()
    },
  }
}

/** What a lane claims that has just begun. */
export async function claimInTrx(trx: Trx, { shards, ...asked }: LaneAsked): Promise<LaneClaim> {
  const { claims, use } = createTestLane(shards)
  await use(trx)
  return claims.claim(asked)
}
