// The reference of the executions figure: a workflow function as one would write it by hand, an activity for each mail.
import { proxyActivities } from '@temporalio/workflow'
import type { RunExecutionInput } from '../workflows/messages.ts'
import type { PlainActivities } from './plainActivities.ts'

const { sendWelcome, sendTips, sendOffer } = proxyActivities<PlainActivities>({
  startToCloseTimeout: '30 seconds',
})

/** Has the name of ours, so that the same starter starts it. */
export async function runExecution({ executionId }: RunExecutionInput): Promise<void> {
  await sendWelcome(executionId)
  await sendTips(executionId)
  await sendOffer(executionId)
}
