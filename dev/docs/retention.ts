// The table of what is deleted once it is old, from the list that workers go by.
import { retentionParts } from '../../db/retention/parts.ts'
import { retentionSettings } from '../../rules/retention.ts'
import { code, markdownTable } from './markdown.ts'

const HOUR_MS = 60 * 60 * 1000

/** Each table with how long its rows are kept, and from when on that is counted. */
export function retentionTable(): string {
  const rows = retentionParts.map(({ table, kept, since }) =>
    typeof kept === 'number'
      ? [code(table), 'always', `${kept / HOUR_MS} hours`, since]
      : [code(table), code(kept), `${retentionSettings[kept].days} days`, since],
  )
  return markdownTable(['table', 'setting', 'default', 'counted from'], rows)
}
