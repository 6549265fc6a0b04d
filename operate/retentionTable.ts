// The lines that `npm run retention` prints.
import { tableLines } from './table.ts'

/** So many rows of a table are counted. */
export const COUNT_MAX = 100_000
const DAY_MS = 24 * 60 * 60 * 1000

export interface OldRows {
  part: string
  rows: number
  oldest_at: Date | null
}

/** What would be deleted: a line for each table. */
export function oldLines(found: readonly OldRows[], now: Date): string[] {
  const rows = found.map(({ part, rows: count, oldest_at }) => [
    part,
    count >= COUNT_MAX ? `${COUNT_MAX} or more` : String(count),
    oldest_at === null ? '' : `${Math.floor((now.getTime() - oldest_at.getTime()) / DAY_MS)} days`,
  ])
  return tableLines(['table', 'rows too old', 'oldest'], rows)
}

/** What was deleted. */
export function deletedLines(found: readonly { part: string; deleted: number }[]): string[] {
  return tableLines(
    ['table', 'rows deleted'],
    found.map(({ part, deleted }) => [part, String(deleted)]),
  )
}
