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

/** `state in (…)` of deliveries under way. */
export const isUnderWay = sql<boolean>`state in (${states(underWayStates)})`

/** `state in (…)` of deliveries that a report may bounce. Those under way are settled by their lane first. */
export const mayBounceLater = sql<boolean>`state in (${states(
  statesBefore('bounced').filter((state) => !isUnderWayState(state)),
)})`

/** The moves that end an attempt, for `(from, to) in (…)`. */
export const attemptMoves: RawBuilder<unknown> = sql.join(
  underWayStates.flatMap((from) =>
    deliveryTransitions[from]
      .filter((to) => !isUnderWayState(to))
      .map((to) => sql`(${sql.lit(from)}, ${sql.lit(to)})`),
  ),
)
