// Bounds how many pages of long work (jobs, releases, schedules) one worker does at once for one workspace. Each holds a connection, and most of them
// one of the places that segments have, so hundreds of jobs of one workspace would otherwise keep everybody's executions waiting.
import { activityInfo } from '@temporalio/activity'
import { LRUCache } from 'lru-cache'
import { pause_ms } from './comingAgain.ts'
import { createPlaces } from './places.ts'
import { workspaceBusy } from './segment/failures.ts'

const BOUNDS = {
  // One that waits for somebody's lock leaves the other to the rest of the workspace.
  each: 2,
  // As many as are inside, and of all workspaces far fewer than a worker has places for such work.
  waiting: 2,
  waitingOfAll: 10,
  // Longer than the longest usual page, which waits a second for a contact or lets go for two (`releaseHeld`): the line stays first come first served.
  wait_ms: 2_500,
  // As long as other segments that were turned away.
  again_ms: 2_000,
  apart_ms: 10,
  // The last of hundreds of jobs need not wait for hours: from two minutes on they come at 20 a second.
  dense_after_ms: 120_000,
  dense_ms: 50,
}

/** Workspaces of which it is known that some of their work was turned away. */
const KEYS_MAX = 1_000
/** How much later than at its time it may be here again. */
const LATE_MS = 500

export type PagePlaces = ReturnType<typeof createPagePlaces>

/** Makes the places of one worker. Their keys are ids of workspaces, or of what the page is of where a run does not know its workspace. */
export function createPagePlaces() {
  const places = createPlaces(BOUNDS)
  /** Until those that were turned away have come again. */
  const awaited = new LRUCache<string, true>({ max: KEYS_MAX })

  async function enter<T>(key: string, page: () => Promise<T>): Promise<{ done: T } | null> {
    const giveBack = await places.take(key)
    if (!giveBack) return null
    try {
      return { done: await page() }
    } finally {
      giveBack()
    }
  }

  return {
    /**
     * Does a page when there is a place.
     * @throws ApplicationFailure: other pages take long, so it comes again later
     */
    async within<T>(key: string, page: () => Promise<T>): Promise<T> {
      const entered = await enter(key, page)
      if (entered) return entered.done
      const after_ms = places.retryAfter_ms(key)
      awaited.set(key, true, { ttl: after_ms + LATE_MS })
      throw workspaceBusy(pause_ms(after_ms, activityInfo().attempt))
    },
    /**
     * Does a further page of a try that has done some. It gives way to those who were turned away: a few that go on and on would keep all places.
     * @returns what the page has given; or in how many ms it is to come again
     */
    async further<T>(
      key: string,
      page: () => Promise<T>,
    ): Promise<{ done: T } | { after_ms: number }> {
      const entered = awaited.has(key) ? null : await enter(key, page)
      return entered ?? { after_ms: places.retryAfter_ms(key) }
    },
  }
}
