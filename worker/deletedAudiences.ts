// Deletes what is left of deleted audiences, within seconds and page by page.
import { forgetDeleted } from '../commands/audiences/forgetDeleted.ts'
import type { CommandDeps } from '../commands/deps.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'
import { restBetweenPages } from './retention.ts'

/** How often a worker asks whether any is deleted: one step into an index. */
const LOOK_EVERY_MS = 1_000
/** Then a round ends, and what has failed in it comes again, however much is left of others. */
const ROUND_MS = 60_000

/** Any number of workers may do it; `stop` ends it after the page that it is at. */
export function startForgettingAudiences(deps: Pick<CommandDeps, 'db' | 'wake'> & { log: Log }): {
  stop: () => Promise<void>
} {
  let isStopping = false
  const places = new Map<string, string>()
  const round = () => {
    const until = performance.now() + ROUND_MS
    return forgetDeleted(deps, {
      ...{ pause: restBetweenPages, places },
      isStopping: () => isStopping || performance.now() >= until,
      onFailure: (err, { id: audience_id }) =>
        deps.log.warn(
          { err, audience_id },
          'contacts of a deleted audience were not deleted; tried again',
        ),
    })
  }
  const forgetting = repeat({
    every_ms: LOOK_EVERY_MS,
    work: round,
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
