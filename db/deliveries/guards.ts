// Conditions on a delivery's state for SQL statements, built from the table of states (rules/states.ts).

import { type RawBuilder, sql } from 'kysely'
import {
  type DeliveryState,
  deliveryTransitions,
  isUnderWay as isUnderWayState,
  statesBefore,
  underWayStates,
  waitingStates,
} from '../../rules/states.ts'
import type { Param } from '../prepared.ts'

/** States as SQL literals, for `state in (…)`. Literals let the planner use partial indexes. */
export const states = (names: readonly DeliveryState[]): RawBuilder<unknown> =>
  sql.join(names.map((name) => sql.lit(name)))

/** `state in (…)` of deliveries that may be claimed. */
export const isWaiting = sql<boolean>`state in (${states(waitingStates)})`

/**
 * `state in (…)` of deliveries under way without the mark `data_sent`: no final dot was sent, so they may return
 * to the queue.
 */
export const isUnmarked = sql<boolean>`state in (${states(statesBefore('data_sent'))})`

/** Of deliveries that stand in a line. The index deliveries_line_places has those too that are under way. */
export const isInLine = sql<boolean>`ready and lease_until is null and settled_at is null`

/**
 * That nobody has claimed or settled a delivery, where it is found by its id: from two "is null" in place of num_nulls Postgres
 * would see that a partial index has these rows, and could read all of that instead.
 */
export const isFreeById = sql<boolean>`num_nulls(lease_until, settled_at) = 2`

/** Of deliveries that stand in no line, as the index deliveries_put_off has them: due later, or put back and not made ready yet. */
export const isLater = sql<boolean>`not ready and lease_until is null and settled_at is null`

/** Of deliveries that wait until later and were never tried. */
export const isPutOff = sql<boolean>`${isLater} and attempt = 0`

/** The domain of a recipient in lower case, as `recipient_domains` has it. */
export const domainOf = (recipient: RawBuilder<unknown>) =>
  sql<string>`lower(substring(${recipient} from '[^@]*$'))`

/**
 * When a lease ends that is given now. Leases are written and read by the clock of Postgres alone: by a worker's, which may
 * be an hour off, they would end before they began, outlive a dead worker, or look ended to another worker.
 */
export const leaseEnd = (leaseMs: Param<number>) =>
  sql<Date>`clock_timestamp() + ${leaseMs}::float8 * interval '1 ms'`

/** Of deliveries whose lease had ended when the statement began. */
export const isLeaseOver = sql<boolean>`lease_until <= statement_timestamp()`

/** `state in (…)` of deliveries under way. */
export const isUnderWay = sql<boolean>`state in (${states(underWayStates)})`

/** `state in (…)` of deliveries that a report may bounce. Those under way are settled by their lane first. */
export const mayBounceLater = sql<boolean>`state in (${states(
  statesBefore('bounced').filter((state) => !isUnderWayState(state)),
)})`

/** A lane and the epoch in which one owner has it. */
export interface LaneEpoch {
  lane: number
  epoch: number
}

/** True while no newer owner has taken the lane, and so its owner may claim. */
export const ownsLane = ({ lane, epoch }: { [K in keyof LaneEpoch]: Param<LaneEpoch[K]> }) =>
  sql<boolean>`exists (select from lanes where lane = ${lane}::int and epoch = ${epoch}::bigint)`

/** True while the owner may mark what it has claimed: nobody has taken the lane from it against its will. */
export const marksInLane = ({ lane, epoch }: { [K in keyof LaneEpoch]: Param<LaneEpoch[K]> }) =>
  sql<boolean>`exists (select from lanes where lane = ${lane}::int and marks_from <= ${epoch}::bigint)`

/**
 * A query that locks deliveries in the order of their ids and gives their ids. A statement on several deliveries
 * takes its rows from it, so that two of them wait for each other and do not deadlock.
 * @param ids what `id in (…)` or `id = any (…)` says
 * @param which a further condition on a row of `deliveries`, which still holds while the row is locked
 * @param columns what else it gives
 */
export const lockedById = (
  ids: RawBuilder<unknown>,
  which: RawBuilder<unknown>,
  columns: RawBuilder<unknown> = sql`id`,
) => sql`select ${columns} from deliveries where id ${ids} and ${which} order by id for update`

/** The moves that end an attempt, for `(from, to) in (…)`. */
export const attemptMoves: RawBuilder<unknown> = sql.join(
  underWayStates.flatMap((from) =>
    deliveryTransitions[from]
      .filter((to) => !isUnderWayState(to))
      .map((to) => sql`(${sql.lit(from)}, ${sql.lit(to)})`),
  ),
)
