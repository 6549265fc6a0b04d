// Folds the changes of audiences' counts into them, every few seconds.
import type { CommandDeps } from '../commands/deps.ts'
import { transact } from '../commands/transact.ts'
import { foldAudienceChanges } from '../db/audiences/changes.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'

const EVERY_MS = 5_000

/** `stop` ends it. Any number of workers may do it. */
export function startFolding(deps: Pick<CommandDeps, 'db' | 'now' | 'wake'> & { log: Log }): {
  stop: () => Promise<void>
} {
  return repeat({
    every_ms: EVERY_MS,
    work: () => transact.one(deps, ({ db }) => foldAudienceChanges(db)),
    onFailure: (err) =>
      deps.log.warn({ err }, 'changes of audience counts were not folded; tried again'),
  })
}
