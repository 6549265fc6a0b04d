// Sees to it that each delivery lane runs, with the number of lanes that is configured now.
import type { Client } from '@temporalio/client'
import {
  DELIVERY_TASK_QUEUE,
  type DeliveryLaneInput,
  deliveryLaneName,
  laneCountSignal,
  laneWorkflowId,
} from '../workflows/messages.ts'

/** Starts missing lanes and tells every lane the count; lanes over it end. Safe to call from any number of workers. */
export async function ensureLanes(client: Client, lanes: number): Promise<void> {
  const wanted = Array.from({ length: lanes }, (_, lane) => lane)
  await Promise.all(
    wanted.map((lane) => {
      const input: DeliveryLaneInput = { lane, lanes }
      return client.workflow.signalWithStart(deliveryLaneName, {
        workflowId: laneWorkflowId(lane),
        taskQueue: DELIVERY_TASK_QUEUE,
        args: [input],
        signal: laneCountSignal,
        signalArgs: [lanes],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      })
    }),
  )
  const running = client.workflow.list({
    query: `WorkflowType = '${deliveryLaneName}' AND ExecutionStatus = 'Running'`,
  })
  for await (const { workflowId } of running) {
    if (wanted.some((lane) => laneWorkflowId(lane) === workflowId)) continue
    await client.workflow.getHandle(workflowId).signal(laneCountSignal, lanes)
  }
}
