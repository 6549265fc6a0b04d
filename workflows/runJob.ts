// Carries out a job: page after page, until there is none left or somebody has paused or cancelled it.
import { continueAsNew, proxyLocalActivities, sleep, workflowInfo } from '@temporalio/workflow'
import type { Activities } from '../activities/index.ts'
import type { RunJobInput } from './messages.ts'
import { quickDb } from './options.ts'

const { runJobPage } = proxyLocalActivities<Activities>(quickDb)

/** Postgres says how far it is, and whether it goes on. Workers start it again for a job that is resumed, or that Temporal has lost. */
export async function runJob(input: RunJobInput): Promise<void> {
  for (;;) {
    const { more, wait_ms } = await runJobPage(input)
    if (!more) return
    if (wait_ms !== undefined) await sleep(wait_ms)
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof runJob>(input)
  }
}
