// Guards of statements that move deliveries, built from the table of states.

import { type RawBuilder, sql } from 'kysely'
import {
  type DeliveryState,
  deliveryTransitions,
  isUnderWay as isUnderWayState,
  statesBefore,
  underWayStates,
  waitingStates,
} from '../../rules/states.ts'

/** States as SQL, for `state in (…)`: written out, so that the planner knows them. */
export const states = (names: readonly DeliveryState[]): RawBuilder<unknown> =>
  sql.join(names.map((name) => sql.lit(name)))

/** `state in (…)` of what may be claimed. */
export const isWaiting = sql<boolean>`state in (${states(waitingStates)})`

/** `state in (…)` of what is under way and not marked yet: no dot was sent, so it may go back. */
export const isUnmarked = sql<boolean>`state in (${states(statesBefore('data_sent'))})`

/** `state in (…)` of what is under way. */
export const isUnderWay = sql<boolean>`state in (${states(underWayStates)})`

/** `state in (…)` of what may bounce by a report; what is under way is settled by its lane first. */
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
