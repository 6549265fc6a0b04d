// Starts the workflow function of a schedule, or tells it that its schedule has changed.
import type { Client } from '@temporalio/client'
import { signals, taskQueues, workflowIds, workflowTypes } from '../rules/wire.ts'
import type { RunScheduleInput } from '../workflows/messages.ts'
import { turnOf } from './turns.ts'

/** May happen twice: each signal makes it look at its schedule once more. One whose schedule is gone ends at once. */
export async function tellSchedule(
  client: Client,
  input: RunScheduleInput & { workspaceId: string },
): Promise<void> {
  await client.workflow.signalWithStart(workflowTypes.runSchedule, {
    workflowId: workflowIds.schedule(input.workflowId, input.nodeId),
    taskQueue: taskQueues.executions,
    args: [input],
    // A workflow function that has ended, or was never started, starts.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    signal: signals.scheduleChanged,
    signalArgs: [],
    ...turnOf(input.workspaceId),
  })
}
