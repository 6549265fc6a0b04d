// Makes sure that every delivery lane runs and knows the configured count of lanes.
import type { Client } from '@temporalio/client'
import { signals, taskQueues, workflowIds, workflowTypes } from '../rules/wire.ts'
import type { DeliveryLaneInput } from '../workflows/messages.ts'

/**
 * Starts missing lanes and signals the count to all; lanes beyond the count end. Any number of workers may call
 * it.
 */
export async function ensureLanes(client: Client, lanes: number): Promise<void> {
  const wanted = Array.from({ length: lanes }, (_, lane) => lane)
  await Promise.all(
    wanted.map((lane) => {
      const input: DeliveryLaneInput = { lane, lanes }
      return client.workflow.signalWithStart(workflowTypes.deliveryLane, {
        workflowId: workflowIds.lane(lane),
        taskQueue: taskQueues.delivery,
        args: [input],
        signal: signals.laneCount,
        signalArgs: [lanes],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      })
    }),
  )
  const running = client.workflow.list({
    query: `WorkflowType = '${workflowTypes.deliveryLane}' AND ExecutionStatus = 'Running'`,
  })
  for await (const { workflowId } of running) {
    if (wanted.some((lane) => workflowIds.lane(lane) === workflowId)) continue
    await client.workflow.getHandle(workflowId).signal(signals.laneCount, lanes)
  }
}
