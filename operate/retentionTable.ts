// The lines that `npm run retention` prints.
import { DAY_MS } from '../rules/retention.ts'
import { tableLines } from './table.ts'

/** So many rows of a table are looked at. */
export const COUNT_MAX = 100_000

export interface OldRows {
  part: string
  /** How long its rows are kept. */
  days: number
  /** null: it is not known. */
  rows: number | null
  /** Whether there may be more than these. */
  more: boolean
  oldest_at: Date | null
  /** Why it is not known. */
  error: string | null
}

/** What would be deleted: a line for each table. */
export function oldLines(found: readonly OldRows[], now: Date): string[] {
  const rows = found.map(({ part, days, rows: count, more, oldest_at }) => [
    part,
    `${days} ${days === 1 ? 'day' : 'days'}`,
    count === null ? 'not known' : `${count}${more ? ' or more' : ''}`,
    oldest_at === null ? '' : `${Math.floor((now.getTime() - oldest_at.getTime()) / DAY_MS)} days`,
  ])
  return tableLines(['table', 'kept', 'rows too old', 'oldest'], rows)
}

/** What was deleted. */
export function deletedLines(found: readonly { part: string; deleted: number }[]): string[] {
  return tableLines(
    ['table', 'rows deleted'],
    found.map(({ part, deleted }) => [part, String(deleted)]),
  )
}
