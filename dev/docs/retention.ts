// The table of what is deleted once it is old, from the list that workers go by.
import { retentionParts } from '../../db/retention/parts.ts'
import { DAY_MS, retentionSettings } from '../../rules/retention.ts'
import { code, markdownTable } from './markdown.ts'

const HOUR_MS = 60 * 60 * 1000

const daysOrHours = (ms: number): string =>
  ms > DAY_MS && ms % DAY_MS === 0 ? `${ms / DAY_MS} days` : `${ms / HOUR_MS} hours`

/** Each table with how long its rows are kept, and from when on that is counted. */
export function retentionTable(): string {
  const rows = retentionParts.map(({ table, kept, since }) =>
    typeof kept === 'number'
      ? [code(table), 'none', daysOrHours(kept), since]
      : [code(table), code(kept), `${retentionSettings[kept].days} days`, since],
  )
  return markdownTable(['table', 'setting', 'kept for, unless it is set', 'counted from'], rows)
}
