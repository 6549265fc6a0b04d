// The activity of a delivery lane: runs the lane for twenty minutes at most and sends heartbeats to Temporal.
import { ApplicationFailure, Context } from '@temporalio/activity'
import { runLane } from '../delivery/lane/run.ts'
import type { DeliveryLaneInput } from '../workflows/messages.ts'
import type { ActivityDeps } from './deps.ts'

const HEARTBEAT_MS = 2_000
/**
 * After this time the activity returns, so that its workflow function can pick up new code and start a new
 * history.
 */
const TURN_MS = 20 * 60 * 1000

/** The activities of `deliveryLane`. They end when `deps.stopping` is aborted. */
export function deliveryActivities(deps: ActivityDeps) {
  return {
    /**
     * Delivers the shards of one lane. Returns after `TURN_MS`. Throws a retryable failure when this worker stops,
     * so that another worker starts the lane at once.
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
