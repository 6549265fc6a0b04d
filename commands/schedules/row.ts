// What the row of a schedule says, for those who move it on.
import type { LiveSchedule, ScheduleRow } from '../../db/schedules/reads.ts'
import { CAUGHT_UP_MS, nextTimes, type Schedule } from '../../rules/time/schedule.ts'
import type { CommandDeps } from '../deps.ts'

export type TurnDeps = Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>

/** Whether something has changed a schedule since it was read. */
export const isOther = (one: ScheduleRow, before: ScheduleRow): boolean =>
  one.version !== before.version ||
  one.due_at?.getTime() !== before.due_at?.getTime() ||
  one.handled_until.getTime() !== before.handled_until.getTime() ||
  one.after_email !== before.after_email

/** Whether there was an outage since its last page: what came before that has not only waited for members. */
export const isLongPause = ({ paged_at }: ScheduleRow, at: Date): boolean =>
  paged_at !== null && at.getTime() - paged_at.getTime() >= CAUGHT_UP_MS

/** After so long nobody is about to carry out a time, or to go on with its members. */
const OVERDUE_MS = 2 * 60_000

/** Whether its workflow function seems not to know of it, or of a change of it: one that is late is told once more. */
export function isOverdue({ schedule, handled_until, due_at, paged_at }: LiveSchedule, at: Date) {
  const since = at.getTime() - OVERDUE_MS
  if (due_at !== null) return (paged_at ?? due_at).getTime() < since
  const from = Math.max(handled_until.getTime(), at.getTime() - CAUGHT_UP_MS)
  const [time = Number.POSITIVE_INFINITY] = nextTimes(schedule as Schedule, from, 1)
  return time <= since
}
