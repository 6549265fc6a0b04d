// One page of a job.
import { runJobPage } from '../commands/jobs/runPage.ts'
import type { RunJobInput, RunJobResult } from '../workflows/messages.ts'
import type { ActivityDeps } from './deps.ts'
import type { PagePlaces } from './pagePlaces.ts'

/** The activity of `runJob`. */
export function jobActivities(
  deps: Pick<ActivityDeps, 'db' | 'newId' | 'now' | 'wake' | 'secrets' | 'addressMac'>,
  places: PagePlaces,
) {
  return {
    /** Does the next page; repeating it does the one after. Errors: any is tried again. */
    runJobPage: ({ jobId, workspaceId }: RunJobInput): Promise<RunJobResult> =>
      places.within(workspaceId ?? jobId, () => runJobPage(deps, { id: jobId })),
  }
}
