// Lets go of the executions that a workflow held while it was paused: page after page, oldest first, with a pause between two.
import { continueAsNew, proxyLocalActivities, sleep, workflowInfo } from '@temporalio/workflow'
import type { Activities } from '../activities/index.ts'
import type { ReleaseHeldInput } from './messages.ts'
import { quickDb } from './options.ts'

/** So that many that go on at once do not stand before all other work. */
const PAUSE_MS = 1_000

const { releaseHeldPage } = proxyLocalActivities<Activities>(quickDb)

/** Ends when nothing is held any more, or the workflow is paused again. Workers start it again for whatever is left. */
export async function releaseHeld(input: ReleaseHeldInput): Promise<void> {
  for (let page = input; ; ) {
    const { more, after } = await releaseHeldPage(page)
    if (!more) return
    await sleep(PAUSE_MS)
    const { workflowId, workspaceId } = input
    page = { workflowId, ...(workspaceId && { workspaceId }), ...(after && { after }) }
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof releaseHeld>(page)
  }
}
