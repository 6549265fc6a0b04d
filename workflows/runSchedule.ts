// Starts the executions of a trigger that is a schedule, at each of its times, for as long as its workflow is active.
import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { Activities } from '../activities/index.ts'
import { signals } from '../rules/wire.ts'
import type { RunScheduleInput } from './messages.ts'
import { scheduleTurn } from './options.ts'

/** Turns in one run, after which it continues as new with an empty history. */
const TURNS_MAX = 200

const { turnSchedule } = proxyActivities<Activities>(scheduleTurn)

const scheduleChanged = defineSignal(signals.scheduleChanged)

/** Ends when the schedule is gone or has no time left. An activation of the workflow starts it again. */
export async function runSchedule(input: RunScheduleInput): Promise<void> {
  let changed = false
  setHandler(scheduleChanged, () => {
    changed = true
  })
  for (let turns = 1; ; turns++) {
    // A change from here on gets a turn of its own.
    changed = false
    const { next_ms } = await turnSchedule(input)
    if (next_ms === null) {
      if (!changed) return
    } else if (next_ms > 0) await condition(() => changed, next_ms)
    if (turns >= TURNS_MAX || workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof runSchedule>(input)
    }
  }
}
