// Tells schedules again whose times have come and that nobody carries out: a worker of a release before schedules may have taken
// what their workflow functions were to be told, and some other run may have been ended by hand.
import { isOverdue } from '../commands/schedules/row.ts'
import { startScheduleAgain } from '../commands/schedules/startAgain.ts'
import type { Db } from '../db/connect.ts'
import { type LiveSchedule, listLiveSchedules } from '../db/schedules/reads.ts'
import type { Wake } from '../db/wake.ts'
import type { Log } from '../runtime/log.ts'

/** Schedules that are read at once. */
const PAGE = 500

export interface OverdueDeps {
  db: Db
  log: Log
  now: () => Date
  wake: Wake
  stop: AbortSignal
}

/** One that is told without need looks at its row, and goes on. One that fails keeps no other from it. */
export async function tellOverdue(deps: OverdueDeps): Promise<void> {
  let last: LiveSchedule | undefined
  do {
    const rows = await listLiveSchedules(deps.db, last ?? null, PAGE)
    for (const row of rows) await tellIfOverdue(deps, row)
    last = rows.length === PAGE ? rows.at(-1) : undefined
  } while (last && !deps.stop.aborted)
}

async function tellIfOverdue(deps: OverdueDeps, row: LiveSchedule): Promise<void> {
  const { workflow_id, node_id, is_queued } = row
  try {
    if (is_queued || !isOverdue(row, deps.now()) || !(await startScheduleAgain(deps, row))) return
    deps.log.warn({ workflow_id, node_id }, 'a schedule is late; its workflow function is told')
  } catch (err) {
    deps.log.warn({ err, workflow_id, node_id }, 'a schedule that is late could not be told')
  }
}
