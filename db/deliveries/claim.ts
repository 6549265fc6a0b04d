// Claims due deliveries: makes them `sending` with a lease.

import { type RawBuilder, sql } from 'kysely'
import type { WaitingState } from '../../rules/states.ts'
import type { Trx } from '../connect.ts'
import { prepare, type Slots } from '../prepared.ts'
import type { Row } from '../schema.ts'
import type { Settings } from '../settings.ts'
import { isFreeById, isWaiting, type LaneEpoch, leaseEnd, ownsLane } from './guards.ts'
import type { ShardRange } from './lines.ts'
import { look, lookedAt, type Verdict } from './look.ts'
import { stoppedData, stoppedState } from './stop.ts'

/** `created_at` is when it was accepted; of scheduled mail, the time for which it was scheduled. */
export type ClaimedDelivery = Pick<
  Row<'deliveries'>,
  | 'id'
  | 'email_id'
  | 'workspace_id'
  | 'domain_id'
  | 'recipient'
  | 'shard'
  | 'attempt'
  | 'next_at'
  | 'created_at'
  | 'expires_at'
  | 'resent'
  | 'last_response'
  | 'slot_day'
  | 'class'
  | 'destination'
  | 'to_team'
  | 'simulated'
> & {
  /** The state before the claim, to which it returns if no attempt is made. */
  was: WaitingState
}

export interface Claim {
  /** Which deliveries, of the lines that the lane has in its memory. */
  ids: readonly number[]
  /** The shards of the lane: what was moved out of them is another lane's. */
  shards: ShardRange
  leaseToken: string
  /** How long the lease lasts. */
  leaseMs: number
  now: Date
  /** Who claims: nothing is claimed once a newer owner has taken the lane. Absent: without that look. */
  owner?: LaneEpoch
}

export interface Claimed {
  /** What may be sent. */
  deliveries: ClaimedDelivery[]
  /** All that were due and taken, also what was settled or put off. */
  taken: Set<number>
}

/**
 * Claims those of some deliveries that are due and stand in line, and gives them a lease. It looks once more at each
 * (`look.ts`): what was left or suppressed since it was accepted is settled here and not returned; what may have been left
 * is put off, and no attempt is counted. What somebody else has locked or claimed it passes over. The statement's snapshot is
 * younger than every leave that was committed before the call.
 *
 * Its update changes no column that stands in an index, so that Postgres writes no index for it (HOT), which is most of the
 * time of an update. Therefore what is claimed stays in its line until it is settled, and no index finds it by its lease:
 * `delivery_claims` does.
 * It is one statement that commits by itself, and so one round trip.
 * @param db whose connections have `claimSettings`, by which it is planned and committed
 */
export async function claimDeliveries(db: Trx, claim: Claim): Promise<Claimed> {
  const { owner } = claim
  const { rows } = await (owner ? claimOfOwner(db, { ...claim, owner }) : claimOfAnyone(db, claim))
  // By their ids: Postgres gives them in the order of their places.
  rows.sort((a, b) => a.id - b.id)
  const deliveries: ClaimedDelivery[] = []
  for (const row of rows) if (row.verdict === null) deliveries.push(toClaimed(row))
  return { deliveries, taken: new Set(rows.map(({ id }) => id)) }
}

/** Times are in seconds, of which Postgres and this process make a number and a date in less time than of a text. */
type Seconds = 'next_at' | 'created_at' | 'expires_at'
type ClaimRow = Omit<ClaimedDelivery, Seconds> & { [name in Seconds]: number } & {
  verdict: Verdict | null
}

const toDate = (seconds: number) => new Date(Math.round(seconds * 1_000))

/** Changes the row, because a copy of each would take longer than all else that is done with them. */
const toClaimed = (row: ClaimRow): ClaimedDelivery =>
  Object.assign(row, {
    next_at: toDate(row.next_at),
    created_at: toDate(row.created_at),
    expires_at: toDate(row.expires_at),
  })

type Owned = Claim & { owner: LaneEpoch }
const claimOfAnyone = prepare<Claim, ClaimRow>((slot) => claimSteps(slot, sql`true`))
const claimOfOwner = prepare<Owned, ClaimRow>((slot) => {
  const lane = slot(({ owner }) => owner.lane)
  return claimSteps(slot, ownsLane({ lane, epoch: slot(({ owner }) => owner.epoch) }))
})

/** The statement of a claim. The fences tell Postgres that it has looked, and knows test addresses: it refuses those of older releases. */
function claimSteps(slot: Slots<Claim>, mayClaim: RawBuilder<unknown>): RawBuilder<ClaimRow> {
  const now = slot((claim) => claim.now)
  const token = slot(({ leaseToken }) => leaseToken)
  const stop = sql`l.verdict`
  const due = sql`
        select ${lookedAt} from deliveries
        where id = any(${slot(({ ids }) => ids)}::bigint[]) and ${isFreeById}
          and ready and ${isWaiting} and next_at <= ${now}
          and shard >= ${slot(({ shards }) => shards.from)} and shard < ${slot(({ shards }) => shards.to)} and ${mayClaim}
        for update skip locked`
  return sql<ClaimRow>`
    with lease as materialized (select ${leaseEnd(slot(({ leaseMs }) => leaseMs))} as ends),
    moved as (
      update deliveries d
      set state = case when l.verdict is null then 'sending' when l.verdict = 'wait' then d.state
            else ${stoppedState(stop)} end,
          attempt = case when l.verdict is null then d.attempt + 1 else d.attempt end,
          lease_token = case when l.verdict is null then ${token}::uuid end,
          lease_until = case when l.verdict is null then (select ends from lease) end,
          fence = case when l.verdict is null then ${token}::uuid else d.fence end,
          simulated_fence = case when l.verdict is null and d.simulated then ${token}::uuid end,
          next_at = case when l.verdict = 'wait' then l.until else d.next_at end,
          ready = l.verdict is distinct from 'wait',
          settled_at = case when l.verdict <> 'wait' then ${now}::timestamptz end
      from (${look(sql`(${due})`, now)}) l where d.ctid = l.place
      returning d.id, d.email_id, d.workspace_id, d.domain_id, d.recipient, d.shard, d.attempt,
        date_part('epoch', d.next_at) as next_at, date_part('epoch', coalesce(d.due_at, d.created_at)) as created_at,
        date_part('epoch', d.expires_at) as expires_at, d.resent, d.last_response, d.slot_day::text as slot_day, d.class,
        d.destination, d.to_team, d.simulated, l.was, l.verdict
    ),
    events as (
      insert into email_events (email_id, workspace_id, recipient, status, at, data)
      select l.email_id, l.workspace_id, l.recipient, 'bounced', ${now}::timestamptz, ${stoppedData(stop)}
      from moved l where l.verdict not in ('wait', 'erased')
      on conflict do nothing
    ),
    ${noteStep(token)}
    select * from moved
  `
}

/** A step `noted`, after `moved`: says what is under way by this claim, and in which shards (`leases.ts`). */
const noteStep = (token: RawBuilder<unknown>) => sql`noted as (
      insert into delivery_claims (token, from_shard, to_shard, ids, until)
      select ${token}::uuid, min(l.shard), (max(l.shard) + 1)::smallint, array_agg(l.id), (select ends from lease)
      from moved l where l.verdict is null having count(*) > 0
    )`

/**
 * How a claim is planned and committed:
 * - The plan is made once for each connection and kept, because making it takes as long as a quarter of a claim. It goes by
 *   indexes alone, in their own order where they have it, whatever the statistics say: another index and a sort look as
 *   good for an empty queue, and would read a million rows later. The same holds for what finds and reads lines (`lines.ts`), and
 *   for what looks whether any mail is due (`ready.ts`). Rows that are found it writes by their place, for which no index can be
 *   taken. To begin other processes would take longer than all of it.
 * - The commit does not wait for the disk. A claim that a crash of Postgres takes back is done again: a mark, which comes
 *   before each final dot, is never on the disk without the claim before it.
 * - It says that it notes what it takes in `delivery_claims`, which a trigger does for claims of the release before.
 */
export const claimSettings = {
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_sort: 'off',
  enable_incremental_sort: 'off',
  synchronous_commit: 'off',
  'dripline.notes_claims': 'yes',
} as const satisfies Settings
