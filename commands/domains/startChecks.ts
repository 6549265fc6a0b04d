// Starts the checks of domains that an early release without checks registered.

import { startMissingChecks as insertMissingChecks } from '../../db/domains/writes.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** Starts missing checks in all workspaces, once for each domain, however many processes call this. */
export function startMissingChecks(deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>): Promise<void> {
  return transact.one(deps, ({ db, now }) => insertMissingChecks(db, now()))
}
