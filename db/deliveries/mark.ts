// Writes the mark `data_sent`, which is committed before a message gets its final dot.

import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../connect.ts'
import { prepare, type Slots } from '../prepared.ts'
import { isUnmarked, type LaneEpoch, lockedById, marksInLane } from './guards.ts'
import { look, lookedAt } from './look.ts'

/**
 * Marks deliveries whose message is written except for the final dot, in one commit. Whether a lease is valid
 * is asked of the database's clock, as everywhere. It looks as a claim
 * does (`look.ts`), since a mail may wait for minutes between claim and dot: nothing is marked that the next claim would
 * settle or put off.
 * @param owner who marks: nothing is marked once its lane was taken from it. Absent: without that look
 * @returns the ids of deliveries whose lease is still valid and which nothing stops: only these may get their final dot
 */
export async function markDataSent(
  trx: Trx,
  ids: number[],
  leaseToken: string,
  now: Date,
  owner?: LaneEpoch,
): Promise<Set<number>> {
  const { rows } = await (owner
    ? markOfOwner(trx, { ids, leaseToken, now, owner })
    : markOfAnyone(trx, { ids, leaseToken, now }))
  return new Set(rows.map((row) => row.id))
}

interface Asked {
  ids: number[]
  leaseToken: string
  now: Date
}
type Owned = Asked & { owner: LaneEpoch }

const markOfAnyone = prepare<Asked, { id: number }>((slot) => markSteps(slot, sql`true`))
const markOfOwner = prepare<Owned, { id: number }>((slot) => {
  const lane = slot(({ owner }) => owner.lane)
  return markSteps(
    slot as Slots<Asked>,
    marksInLane({ lane, epoch: slot(({ owner }) => owner.epoch) }),
  )
})

function markSteps(slot: Slots<Asked>, mayMark: RawBuilder<unknown>): RawBuilder<{ id: number }> {
  const now = slot((asked) => asked.now)
  const which = sql`lease_token = ${slot((asked) => asked.leaseToken)}::uuid and lease_until > clock_timestamp()
    and ${isUnmarked}`
  const ids = sql`= any(${slot((asked) => asked.ids)}::bigint[])`
  return sql<{ id: number }>`
    with held as materialized (${lockedById(ids, which, lookedAt)}),
    free as materialized (
      select l.id from (${look(sql`held`, now)}) l
      where l.verdict is null and ${mayMark}
    ),
    marked as (
      update deliveries d set state = 'data_sent' from free where d.id = free.id returning d.id
    )
    select id from marked
  `
}
