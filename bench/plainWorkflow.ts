// The reference of the executions figure: a hand-written workflow function with one activity for each email.
import { proxyActivities } from '@temporalio/workflow'
import type { RunExecutionInput } from '../workflows/messages.ts'
import type { PlainActivities } from './plainActivities.ts'

const { sendWelcome, sendTips, sendOffer } = proxyActivities<PlainActivities>({
  startToCloseTimeout: '30 seconds',
})

/** It has the name of the service's workflow function, so that the same starter can start it. */
export async function runExecution({ executionId }: RunExecutionInput): Promise<void> {
  await sendWelcome(executionId)
  await sendTips(executionId)
  await sendOffer(executionId)
}
