// Starts the checks of domains that were registered by a release that had no checks.

import { startMissingChecks as insertMissingChecks } from '../../db/domains/writes.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** Starts them in all workspaces, once for each domain however many processes call this. */
export function startMissingChecks(deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>): Promise<void> {
  return transact.one(deps, ({ db, now }) => insertMissingChecks(db, now()))
}
