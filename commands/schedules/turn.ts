// Finds what a schedule has to do now: to wait, to start executions for the next members, or nothing any more.
import { findSchedule, type ScheduleKey, type ScheduleRow } from '../../db/schedules/reads.ts'
import { lockSchedule, type ScheduleProgress, updateSchedule } from '../../db/schedules/writes.ts'
import { dueTime, type Schedule } from '../../rules/time/schedule.ts'
import { transact } from '../transact.ts'
import { isLongPause, isOther, type TurnDeps } from './row.ts'
import { startMembers } from './startMembers.ts'

/** `over`: it is gone, or has no time left. `started`: some members are through, and more are to come. */
export type ScheduleTurn =
  | { kind: 'over' }
  | { kind: 'wait'; until: Date }
  | { kind: 'started'; of: Pick<ScheduleRow, 'workspace_id' | 'workflow_id'> }

/** Does what is due of a schedule: at most one page of its members. */
export async function turnSchedule(deps: TurnDeps, key: ScheduleKey): Promise<ScheduleTurn> {
  for (;;) {
    const row = await findSchedule(deps.db, key)
    if (!row || row.is_over) return { kind: 'over' }
    if (row.due_at !== null) {
      const isThrough = await startMembers(deps, { ...row, due_at: row.due_at })
      if (!isThrough) return { kind: 'started', of: row }
    }
    const turn = await transact(deps, async ({ db: trx, now }) => {
      const locked = await lockSchedule(trx, row.workspace_id, key)
      // It has changed meanwhile.
      if (!locked || isOther(locked, row)) return null
      const { turn, progress } = moveOn(locked, now())
      if (progress) await updateSchedule(trx, row.workspace_id, key, progress)
      return turn
    })
    if (turn) return turn
  }
}

/** What follows where no member of a time is left. @returns `turn` null: a time is due */
function moveOn(
  row: ScheduleRow,
  at: Date,
): { turn: ScheduleTurn | null; progress: ScheduleProgress | null } {
  const after = row.due_at ?? row.handled_until
  // What came while members were started has waited for them.
  const waitedSince = row.due_at === null || isLongPause(row, at) ? null : row.busy_since
  const due = dueTime(
    row.schedule as Schedule,
    after.getTime(),
    at.getTime(),
    waitedSince?.getTime() ?? null,
  )
  const done = { handled_until: after, due_at: null, after_email: '', busy_since: null }
  if (!due) return { turn: { kind: 'over' }, progress: { ...done, is_over: true } }
  const time = new Date(due.at)
  if (due.kind === 'next') {
    return { turn: { kind: 'wait', until: time }, progress: row.due_at === null ? null : done }
  }
  return { turn: null, progress: { ...done, due_at: time, paged_at: at, busy_since: at } }
}
