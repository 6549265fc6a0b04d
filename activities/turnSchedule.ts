// Starts what a schedule has due, page by page of its members, and says when to look again.
import { setTimeout as delay } from 'node:timers/promises'
import { Context } from '@temporalio/activity'
import { turnSchedule } from '../commands/schedules/turn.ts'
import { hasStartsLeft, type ScheduleRow } from '../db/schedules/reads.ts'
import type { RunScheduleInput, TurnScheduleResult } from '../workflows/messages.ts'
import type { ActivityDeps } from './deps.ts'
import type { PagePlaces } from './pagePlaces.ts'

/** An activity begins no further page after this time. */
const TURN_MS = 60_000
/** How long a page waits for the starts before it to leave the outbox. */
const STARTS_MS_MAX = 20_000
const LOOK_MS = 50
const LOOK_MS_MAX = 1_000
/** A later time is asked for again, since the rules of its zone may have changed by then. */
const SLEEP_MS_MAX = 7 * 24 * 60 * 60 * 1000

/** The activities of `runSchedule`. They end when `deps.stopping` is aborted. */
export function scheduleActivities(
  deps: Pick<ActivityDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac' | 'stopping'>,
  places: PagePlaces,
) {
  /** Fresh events come first: no page is begun while starts of the workflow wait for Temporal. */
  const untilStarted = async ({ workspace_id, workflow_id }: StartsOf): Promise<void> => {
    const end = performance.now() + STARTS_MS_MAX
    let look_ms = LOOK_MS
    while (!deps.stopping.aborted && performance.now() < end) {
      Context.current().heartbeat()
      if (!(await hasStartsLeft(deps.db, workspace_id, workflow_id))) return
      await delay(look_ms, null, { signal: deps.stopping }).catch(() => undefined)
      look_ms = Math.min(look_ms * 2, LOOK_MS_MAX)
    }
  }
  return {
    /** Throws errors of Postgres, and that other pages of the workspace take long; Temporal tries both again. */
    async turnSchedule({ workspaceId, ...key }: RunScheduleInput): Promise<TurnScheduleResult> {
      const end = performance.now() + TURN_MS
      const ofKey = workspaceId ?? key.workflowId
      const page = () => turnSchedule(deps, key)
      for (let pages = 0; !deps.stopping.aborted && performance.now() < end; pages++) {
        Context.current().heartbeat()
        const next =
          pages === 0
            ? { done: await places.within(ofKey, page) }
            : await places.further(ofKey, page)
        // Its tries begin anew: it has come on, so its pauses must not grow.
        if ('after_ms' in next) return { next_ms: next.after_ms }
        const turn = next.done
        if (turn.kind === 'over') return { next_ms: null }
        if (turn.kind === 'wait') {
          const wait_ms = turn.until.getTime() - deps.now().getTime()
          return { next_ms: Math.min(Math.max(wait_ms, 1), SLEEP_MS_MAX) }
        }
        await untilStarted(turn.of)
      }
      return { next_ms: 0 }
    },
  }
}

type StartsOf = Pick<ScheduleRow, 'workspace_id' | 'workflow_id'>
