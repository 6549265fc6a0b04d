// The reference of an awaited event between two mails: a hand-written workflow function with one activity for each email.
import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow'
import { signals } from '../rules/wire.ts'
import type { RunExecutionInput } from '../workflows/messages.ts'
import type { PlainActivities } from './plainActivities.ts'

const { sendMail } = proxyActivities<PlainActivities>({ startToCloseTimeout: '30 seconds' })
const eventArrived = defineSignal(signals.eventArrived)

/** It has the names of the service's workflow function and signal, so that the same starter can serve it. */
export async function runExecution({ executionId }: RunExecutionInput): Promise<void> {
  let hasArrived = false
  setHandler(eventArrived, () => {
    hasArrived = true
  })
  await sendMail(executionId, 0)
  await condition(() => hasArrived)
  await sendMail(executionId, 1)
}
