// Deletes what is left of deleted audiences, within seconds and page by page.
import { forgetDeleted } from '../commands/audiences/forgetDeleted.ts'
import type { CommandDeps } from '../commands/deps.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'
import { restBetweenPages } from './retention.ts'

/** How often a worker asks whether any is deleted: one step into an index. */
const LOOK_EVERY_MS = 1_000
/** Then a round ends, and what was held in it comes again, however much is left of others. */
const ROUND_MS = 60_000
/** How long an audience is left out that has failed: what fails once mostly fails a second later, too. */
const FAILED_MS = 60_000

type Deps = Pick<CommandDeps, 'db' | 'wake' | 'now'> & { log: Log }

interface Pace {
  isStopping: () => boolean
  pause: (took_ms: number) => Promise<unknown>
  /** Where a round that ends before its end goes on the next time. */
  places: Map<string, string>
  /** Which audiences have failed, and when each comes again. */
  failed: Map<string, number>
  /** Counts ms. */
  clock?: () => number
  /** Rows of a page; for tests. */
  page?: number
}

/** Deletes what is left, for a minute at most. */
export function deletedAudiencesRound(
  deps: Deps,
  { isStopping, failed, clock = () => performance.now(), ...pace }: Pace,
): Promise<void> {
  const begun = clock()
  for (const [id, again] of failed) if (again <= begun) failed.delete(id)
  return forgetDeleted(deps, {
    ...pace,
    but: [...failed.keys()],
    isStopping: () => isStopping() || clock() >= begun + ROUND_MS,
    onFailure(err, { id: audience_id }) {
      failed.set(audience_id, clock() + FAILED_MS)
      deps.log.warn(
        { err, audience_id },
        'contacts of a deleted audience were not deleted; tried again in a minute',
      )
    },
  })
}

/** Any number of workers may do it; `stop` ends it after the page that it is at. */
export function startForgettingAudiences(deps: Deps): { stop: () => Promise<void> } {
  let isStopping = false
  const places = new Map<string, string>()
  const failed = new Map<string, number>()
  const forgetting = repeat({
    every_ms: LOOK_EVERY_MS,
    work: () =>
      deletedAudiencesRound(deps, {
        ...{ isStopping: () => isStopping, pause: restBetweenPages, places, failed },
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
