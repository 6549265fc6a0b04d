// The reference of a delay between two mails: a hand-written workflow function with one activity for each email.
import { proxyActivities, sleep } from '@temporalio/workflow'
import type { RunExecutionInput } from '../workflows/messages.ts'
import type { PlainActivities } from './plainActivities.ts'

const { sendMail } = proxyActivities<PlainActivities>({ startToCloseTimeout: '30 seconds' })

/** It has the name of the service's workflow function, so that the same starter can start it. */
export async function runExecution({ executionId }: RunExecutionInput): Promise<void> {
  await sendMail(executionId, 0)
  await sleep(1_000)
  await sendMail(executionId, 1)
}
