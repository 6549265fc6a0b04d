// Takes the parts of what is deleted by age that are due, so that of many workers one at a time looks for them.
import { type RetentionPart, retentionParts } from '../../db/retention/parts.ts'
import { claimRetentionParts } from '../../db/retention/writes.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

const EVERY_MS = 60 * 60 * 1000

/** @returns the parts that nobody has looked at for an hour; nobody else gets them for another one */
export async function claimRetention(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
): Promise<RetentionPart[]> {
  const now = deps.now()
  const until = new Date(now.getTime() + EVERY_MS)
  const all = retentionParts.map(({ table }) => table)
  const names = await transact.one(deps, ({ db }) => claimRetentionParts(db, all, { now, until }))
  return retentionParts.filter(({ table }) => names.includes(table))
}
