// What the row of a schedule says, for those who move it on.
import type { ScheduleRow } from '../../db/schedules/reads.ts'
import { CAUGHT_UP_MS } from '../../rules/time/schedule.ts'
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
