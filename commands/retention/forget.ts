// Deletes what is too old to be kept, part by part and page by page: each page is a commit of its own.
import type { RetentionPart } from '../../db/retention/parts.ts'
import { deleteRetentionPage, type RetentionPlace } from '../../db/retention/writes.ts'
import { DAY_MS, type RetentionDays } from '../../rules/retention.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** Of one commit. */
const PAGE = 1_000

/** What hears how it goes. */
export interface RetentionWatch {
  deleted(part: RetentionPart, rows: number): void
  /** The part ends for this time, and the others go on. */
  failed(part: RetentionPart, err: unknown): void
}

interface Round {
  parts: readonly RetentionPart[]
  days: RetentionDays
  /** Comes between two pages, and is given how long the last one took, ms. */
  pause: (took_ms: number) => Promise<unknown>
  isStopping: () => boolean
  watch: RetentionWatch
  /** Where it ends before all is deleted, and where it begins: behind that row of a table, else at the oldest. */
  places?: Map<string, RetentionPlace>
  /** Rows of a page; for tests. */
  page?: number
}

/** What is as old as this or older may go now. */
export function oldBefore({ kept }: RetentionPart, days: RetentionDays, now: Date): Date {
  return new Date(now.getTime() - (typeof kept === 'number' ? kept : days[kept] * DAY_MS))
}

/**
 * Deletes all that is too old. The parts take turns, a page each, so that one with much to delete or one that fails keeps none of the others
 * from going on. Any number may run at once, and each may be killed at any moment.
 */
export async function forgetOld(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  { parts, days, pause, isStopping, watch, places = new Map(), page = PAGE }: Round,
): Promise<void> {
  const at = deps.now()
  const begin = (part: RetentionPart) => ({
    part,
    before: oldBefore(part, days, at),
    after: places.get(part.table) ?? null,
  })
  let left = parts.map(begin)
  while (left.length > 0) {
    const further: typeof left = []
    for (const one of left) {
      if (isStopping()) return
      const { part, before, after } = one
      const began = performance.now()
      try {
        const { deleted, next } = await transact.one(deps, ({ db }) =>
          deleteRetentionPage(db, part, { before, after, limit: page }),
        )
        watch.deleted(part, deleted)
        if (next) {
          further.push({ ...one, after: next })
          places.set(part.table, next)
        } else places.delete(part.table)
      } catch (err) {
        places.delete(part.table)
        watch.failed(part, err)
      }
      await pause(performance.now() - began)
    }
    left = further
  }
}
