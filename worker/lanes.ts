// Sees to it that each delivery lane runs, with the number of lanes that is configured now.
import type { Client } from '@temporalio/client'
import { signals, taskQueues, workflowIds, workflowTypes } from '../rules/wire.ts'
import type { DeliveryLaneInput } from '../workflows/messages.ts'

/** Starts missing lanes and tells every lane the count; lanes over it end. Safe to call from any number of workers. */
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
