// The activity of a delivery lane: runs the lane for a turn, tells Temporal that it lives, and hands it over.
import { ApplicationFailure, Context } from '@temporalio/activity'
import { runLane } from '../delivery/lane/run.ts'
import type { DeliveryLaneInput } from '../workflows/messages.ts'
import type { ActivityDeps } from './deps.ts'

const HEARTBEAT_MS = 2_000
/** The activity returns now and then, so that its workflow can take up new code and a fresh history. */
const TURN_MS = 20 * 60 * 1000

/** The activities of `deliveryLane`. They end when `deps.stopping` is aborted. */
export function deliveryActivities(deps: ActivityDeps) {
  return {
    /**
     * Delivers the shards of one lane. Returns after its turn; throws a retryable failure when this worker stops,
     * so that the lane starts again on another one at once.
     */
    async deliverShards(lane: DeliveryLaneInput): Promise<void> {
      const context = Context.current()
      const { cancellationSignal: cancelled } = context
      const turn = new AbortController()
      const turnEnd = setTimeout(() => turn.abort(), TURN_MS)
      const beats = setInterval(() => context.heartbeat(), HEARTBEAT_MS)
      try {
        await runLane(deps, lane, AbortSignal.any([cancelled, deps.stopping, turn.signal]))
      } finally {
        clearTimeout(turnEnd)
        clearInterval(beats)
      }
      if (cancelled.aborted) await context.cancelled
      if (deps.stopping.aborted)
        throw ApplicationFailure.retryable('the worker stops', 'LaneHandedOver')
    },
  }
}
