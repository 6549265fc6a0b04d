// Reads what dead processes of this machine left in the state folder, and notes it in Postgres.
import { noteSuspect, tidySuspects } from '../../commands/suspects/note.ts'
import type { Db } from '../../db/connect.ts'
import type { SuspectKind } from '../../rules/wire.ts'
import type { Log } from '../../runtime/log.ts'
import type { ProcessIdentity } from '../../runtime/watchdog/identity.ts'
import { forget, listLeftBehind, type StatePlace } from '../../runtime/watchdog/stateFile.ts'

export interface LeftBehindDeps {
  db: Db
  now: () => Date
  log: Log
  place: StatePlace
  identity: ProcessIdentity
  noted: (kind: SuspectKind) => void
}

/** Only what the main thread worked on is noted; what was merely under way there is not even written down. */
export async function noteLeftBehind(deps: LeftBehindDeps): Promise<void> {
  const { log, place, identity } = deps
  const commands = { ...deps, wake: () => undefined }
  for (const left of listLeftBehind(place, identity)) {
    if (left.mark) {
      const { kind, id, step, alone } = left.mark
      const suspect = { kind, id, step, diedInRun: alone ? left.run : null }
      const deaths = await noteSuspect(commands, suspect)
      log.warn({ kind, id, step, alone, deaths }, 'a worker died while it worked on this')
      if (deaths !== undefined) deps.noted(kind)
    }
    forget(left)
  }
  await tidySuspects(commands)
}
