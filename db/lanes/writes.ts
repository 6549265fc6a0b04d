// Gives delivery lanes their owners. The newer epoch wins: what an older owner claims or marks changes nothing.
import { sql } from 'kysely'
import type { Trx } from '../connect.ts'
import type { LaneEpoch } from '../deliveries/guards.ts'
import { endWhenIdle } from '../idle.ts'

/** How long a transaction that takes a lane may stand between two statements. */
const IDLE_MAX = '5s'

export interface NewOwner {
  lane: number
  /** The count of lanes. */
  lanes: number
  /** Its shards, half open. */
  from: number
  to: number
  /** `pid@host`. */
  owner: string
  until: Date
}

/**
 * Gives a lane to a new owner, and takes shards of its range from every other lane. An owner that has not offered its
 * lane may mark nothing from now on; one that has, or whose other shards are taken, finishes what it has claimed.
 * Call it in a transaction: it locks the table for writers, so that no two owners get the same epoch.
 * @returns the epoch of the new owner
 */
export async function takeLane(trx: Trx, given: NewOwner): Promise<LaneEpoch> {
  const { lane, lanes, from, to, owner, until } = given
  // A worker that is frozen here would keep every owner from saying that it lives.
  await endWhenIdle(trx, IDLE_MAX)
  await sql`lock table lanes in exclusive mode`.execute(trx)
  const { rows } = await sql<LaneEpoch>`
    with newest as (select coalesce(max(epoch), 0) + 1 as epoch from lanes),
    overlapped as (
      update lanes l set epoch = 0, offered = true
      where l.lane <> ${lane} and l.shard_from < ${to} and l.shard_to > ${from}
    )
    insert into lanes as l (lane, lanes, shard_from, shard_to, owner, epoch, marks_from, offered, until)
    select ${lane}::int, ${lanes}::int, ${from}::smallint, ${to}::smallint, ${owner}, n.epoch, n.epoch, false,
      ${until}::timestamptz
    from newest n
    on conflict (lane) do update
    set lanes = excluded.lanes, shard_from = excluded.shard_from, shard_to = excluded.shard_to,
        owner = excluded.owner, epoch = excluded.epoch, offered = false, until = excluded.until,
        marks_from = case when l.offered then l.marks_from else excluded.epoch end
    returning lane, epoch
  `.execute(trx)
  const [taken] = rows
  if (!taken) throw new Error(`lane ${lane} was not taken`)
  return taken
}

/** Says that the owner lives. @returns false if a newer owner has taken the lane */
export async function renewLane(
  trx: Trx,
  { lane, epoch }: LaneEpoch,
  until: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('lanes')
    .set({ until })
    .where('lane', '=', lane)
    .where('epoch', '=', epoch)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The owner lets its lane go: the next one lets it finish what it has claimed. It may claim until then. */
export async function offerLane(trx: Trx, { lane, epoch }: LaneEpoch): Promise<void> {
  await trx
    .updateTable('lanes')
    .set({ offered: true })
    .where('lane', '=', lane)
    .where('epoch', '=', epoch)
    .execute()
}
