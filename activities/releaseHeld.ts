// One page of the executions that a workflow held while it was paused.
import { releaseHeld } from '../commands/workflows/releaseHeld.ts'
import type { ReleaseHeldInput, ReleaseHeldResult } from '../workflows/messages.ts'
import type { ActivityDeps } from './deps.ts'

/** The activity of `releaseHeld`. */
export function holdActivities(deps: ActivityDeps) {
  return {
    /** Lets go of a page of held executions, or cancels them; repeating it finds the next ones. Errors: any is tried again. */
    releaseHeldPage: (input: ReleaseHeldInput): Promise<ReleaseHeldResult> =>
      releaseHeld(deps, { workflowId: input.workflowId }),
  }
}
