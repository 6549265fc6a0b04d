// Bounds how many pages of long work (jobs, releases, schedules) one worker does at once for one workspace. Each holds a connection, and most of them
// one of the places that segments have, so hundreds of jobs of one workspace would otherwise keep everybody's executions waiting.
import { activityInfo } from '@temporalio/activity'
import { workspaceBusy } from './segment/failures.ts'
import { createSegmentPlaces, pause_ms } from './segment/places.ts'

const BOUNDS = {
  each: 2,
  waiting: 2,
  waitingOfAll: 10,
  wait_ms: 500,
  again_ms: 2_000,
  apart_ms: 10,
  dense_after_ms: 120_000,
  dense_ms: 50,
}

export type PagePlaces = ReturnType<typeof createPagePlaces>

/** Makes the places of one worker. */
export function createPagePlaces() {
  const places = createSegmentPlaces(BOUNDS)
  return {
    /**
     * Does a page when there is a place.
     * @param workspaceId of runs that an earlier release has started undefined: they are as of one workspace
     * @throws ApplicationFailure: other pages take long, so it comes again later
     */
    async within<T>(workspaceId = '', page: () => Promise<T>): Promise<T> {
      const giveBack = await places.take(workspaceId)
      if (!giveBack) {
        throw workspaceBusy(pause_ms(places.retryAfter_ms(workspaceId), activityInfo().attempt))
      }
      try {
        return await page()
      } finally {
        giveBack()
      }
    },
  }
}
