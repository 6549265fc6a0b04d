// One page of the executions that a workflow held while it was paused.
import { releaseHeld } from '../commands/workflows/releaseHeld.ts'
import type { ReleaseHeldInput, ReleaseHeldResult } from '../workflows/messages.ts'
import type { ActivityDeps } from './deps.ts'
import type { PagePlaces } from './pagePlaces.ts'

/** The activity of `releaseHeld`. */
export function holdActivities(
  deps: Pick<ActivityDeps, 'db' | 'now' | 'wake'>,
  places: PagePlaces,
) {
  return {
    /** Lets go of a page of held executions, or cancels them; repeating it finds the next ones. Errors: any is tried again. */
    releaseHeldPage: ({
      workflowId,
      workspaceId,
      after,
    }: ReleaseHeldInput): Promise<ReleaseHeldResult> =>
      places.within(workspaceId ?? workflowId, () => releaseHeld(deps, { workflowId, after })),
  }
}
