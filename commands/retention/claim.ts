// Takes the parts of what is deleted by age that are due, so that of many workers one at a time looks for them.
import { type RetentionPart, retentionParts } from '../../db/retention/parts.ts'
import { claimRetentionParts } from '../../db/retention/writes.ts'
import type { RetentionDays } from '../../rules/retention.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** From one look at a part to the next, ms. */
export const RETENTION_EVERY_MS = 60 * 60 * 1000

/**
 * @param days what the caller keeps, which is written down: whoever deletes without settings of their own goes by that
 * @returns the parts that nobody has looked at for an hour; nobody else gets them for another one
 */
export async function claimRetention(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  days: RetentionDays,
): Promise<RetentionPart[]> {
  const now = deps.now()
  const until = new Date(now.getTime() + RETENTION_EVERY_MS)
  const all = retentionParts.map(({ table, kept }) => ({
    name: table,
    days: typeof kept === 'number' ? null : days[kept],
  }))
  const names = await transact.one(deps, ({ db }) => claimRetentionParts(db, all, { now, until }))
  return retentionParts.filter(({ table }) => names.includes(table))
}
