// Deletes what is left of deleted audiences, within seconds and page by page.
import { forgetDeleted } from '../commands/audiences/forgetDeleted.ts'
import type { CommandDeps } from '../commands/deps.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'
import { restBetweenPages } from './retention.ts'

/** How often a worker asks whether any is deleted: one step into an index. */
const LOOK_EVERY_MS = 1_000
/** Then a round ends, and what has failed in it or was held comes again, however much is left of others. */
const ROUND_MS = 60_000

type Deps = Pick<CommandDeps, 'db' | 'wake' | 'now'> & { log: Log }

interface Pace {
  isStopping: () => boolean
  pause: (took_ms: number) => Promise<unknown>
  /** Where a round that ends before its end goes on the next time. */
  places: Map<string, string>
  /** Counts ms. */
  clock?: () => number
  /** Rows of a page; for tests. */
  page?: number
}

/** Deletes what is left, for a minute at most. */
export function deletedAudiencesRound(
  deps: Deps,
  { isStopping, clock = () => performance.now(), ...pace }: Pace,
): Promise<void> {
  const until = clock() + ROUND_MS
  return forgetDeleted(deps, {
    ...pace,
    isStopping: () => isStopping() || clock() >= until,
    onFailure: (err, { id: audience_id }) =>
      deps.log.warn(
        { err, audience_id },
        'contacts of a deleted audience were not deleted; tried again',
      ),
  })
}

/** Any number of workers may do it; `stop` ends it after the page that it is at. */
export function startForgettingAudiences(deps: Deps): { stop: () => Promise<void> } {
  let isStopping = false
  const places = new Map<string, string>()
  const forgetting = repeat({
    every_ms: LOOK_EVERY_MS,
    work: () =>
      deletedAudiencesRound(deps, {
        ...{ isStopping: () => isStopping, pause: restBetweenPages, places },
      }),
    onFailure: (err) =>
      deps.log.warn({ err }, 'deleted audiences were not looked for; tried again'),
  })
  return {
    stop() {
      isStopping = true
      return forgetting.stop()
    },
  }
}
