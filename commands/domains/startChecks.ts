// Starts the checks of domains from before there were checks.

import { startMissingChecks as insertMissingChecks } from '../../db/domains/writes.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** Of all workspaces, once for each domain however many processes ask. */
export function startMissingChecks(deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>): Promise<void> {
  return transact.one(deps, ({ db, now }) => insertMissingChecks(db, now()))
}
