// Makes all activities from their dependencies, for the worker and for tests.

import { httpActivities } from './callHttp.ts'
import { domainActivities } from './checkDomain.ts'
import { deliveryActivities } from './deliverShards.ts'
import type { ActivityDeps } from './deps.ts'
import { createPagePlaces } from './pagePlaces.ts'
import { holdActivities } from './releaseHeld.ts'
import { jobActivities } from './runJob.ts'
import { withClosedFaults } from './segment/failures.ts'
import { segmentActivities } from './segment/run.ts'
import { scheduleActivities } from './turnSchedule.ts'

/** Every activity that a workflow function may call, by its name on the wire. */
export function createActivities(deps: ActivityDeps) {
  const pagePlaces = createPagePlaces()
  return withClosedFaults(deps.log, {
    ...segmentActivities(deps),
    ...holdActivities(deps, pagePlaces),
    ...deliveryActivities(deps),
    ...jobActivities(deps, pagePlaces),
    ...domainActivities(deps),
    ...httpActivities(deps),
    ...scheduleActivities(deps, pagePlaces),
  })
}

export type Activities = ReturnType<typeof createActivities>
