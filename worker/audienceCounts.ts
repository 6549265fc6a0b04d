// Folds the changes of audiences' counts into them, every few seconds.
import type { CommandDeps } from '../commands/deps.ts'
import { transact } from '../commands/transact.ts'
import { foldAudienceChanges } from '../db/audiences/changes.ts'
import type { Log } from '../runtime/log.ts'

const EVERY_MS = 5_000

/** `stop` ends it. Any number of workers may do it. */
export function startFolding(deps: Pick<CommandDeps, 'db' | 'now' | 'wake'> & { log: Log }): {
  stop: () => Promise<void>
} {
  let running: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    running = running
      .then(() => transact.one(deps, ({ db }) => foldAudienceChanges(db)))
      .catch((err: unknown) =>
        deps.log.warn({ err }, 'changes of audience counts were not folded; tried again'),
      )
  }, EVERY_MS)
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
