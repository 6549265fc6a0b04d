// What every command is given: database, clock, ids, secrets, wake; nothing of a request.
import type { Db } from '../db/connect.ts'
import type { Wake } from '../db/wake.ts'
import type { NewId, WorkspaceId } from '../rules/ids.ts'
import type { Secrets } from '../runtime/secrets.ts'

export interface CommandDeps {
  /** Inside `transact` it is the open transaction, so that commands call each other with the deps they have. */
  db: Db
  now: () => Date
  newId: NewId
  secrets: Secrets
  /** Tells waiting workers that rows were committed for them; inside `transact` it waits for the commit. */
  wake: Wake
  config: {
    /** Mail may go out from domains that were not verified: for trying things out. */
    allowUnverifiedDomains: boolean
  }
}

/** What the commands that end API keys are given besides. */
export interface RevokingDeps extends CommandDeps {
  /** Hears that keys of a workspace work no more; inside `transact` it waits for the commit. */
  keysRevoked: (workspaceId: WorkspaceId) => void
}
