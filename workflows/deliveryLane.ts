// A delivery lane: keeps one long activity running on any live worker. The activity sends the mail of the lane's
// shards.
import {
  CancellationScope,
  condition,
  continueAsNew,
  defineSignal,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { Activities } from '../activities/index.ts'
import { signals } from '../rules/wire.ts'
import type { DeliveryLaneInput } from './messages.ts'
import { laneActivity } from './options.ts'

const { deliverShards } = proxyActivities<Activities>(laneActivity)

const laneCount = defineSignal<[lanes: number]>(signals.laneCount)

/**
 * Runs until the count of lanes no longer includes its number. When the count changes, the activity restarts with
 * its new shards.
 */
export async function deliveryLane(input: DeliveryLaneInput): Promise<void> {
  const { lane } = input
  let lanes = input.lanes
  setHandler(laneCount, (wanted) => {
    lanes = wanted
  })
  while (lane < lanes) {
    const running = lanes
    await CancellationScope.cancellable(async () => {
      const scope = CancellationScope.current()
      const activity = deliverShards({ lane, lanes: running })
      await Promise.race([activity, condition(() => lanes !== running)])
      scope.cancel()
      await activity.catch((err) => {
        if (!isCancellation(err)) throw err
      })
    })
    if (workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof deliveryLane>({ lane, lanes })
  }
}
