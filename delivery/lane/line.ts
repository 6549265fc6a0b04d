// One line in the memory of a lane: the deliveries that wait first, and behind which place more may wait.
import type { LineKey, LinePlace } from '../../db/deliveries/lines.ts'
import { type Queued, unqueued } from '../../runtime/linkedQueue.ts'

/** The first deliveries of a line. */
export interface Line extends LineKey, Queued<Line> {
  /** In their order, all before `unread` or at it. */
  rows: LinePlace[]
  /** Behind this place may be more that is not here; null: this is all. */
  unread: LinePlace | null
  /** The first place of which was told since what is behind `unread` was last asked for: the answer may lack what stands there. */
  told: LinePlace | null
}

/** A line in which nothing waits yet. */
export function emptyLine({ class: classPlace, workspace_id, shard, destination }: LineKey): Line {
  const key = { class: classPlace, workspace_id, shard, destination }
  return { ...key, rows: [], unread: null, told: null, ...unqueued }
}

/** Whether one place in a line is before another. */
export const isBefore = (a: LinePlace, b: LinePlace) =>
  a.at < b.at || (a.at === b.at && a.id < b.id)

/** Just before a place: what stands at the place itself is behind it. */
export const justBefore = ({ at, id }: LinePlace): LinePlace => ({ at, id: id - 1 })

/** By what its workspace has the line. */
export const nameOf = ({ shard, destination }: LineKey) => `${shard} ${destination}`

/** Puts a delivery in its place. It is not there yet, and not behind `unread`. */
export function insert(line: Line, row: LinePlace): void {
  const last = line.rows.at(-1)
  if (!last || isBefore(last, row)) line.rows.push(row)
  else
    line.rows.splice(
      line.rows.findIndex((one) => isBefore(row, one)),
      0,
      row,
    )
}

/** Forgets what stands at a place and behind it, which is to be read again. @returns what is forgotten */
export function cut(line: Line, place: LinePlace): LinePlace[] {
  if (!line.told || isBefore(place, line.told)) line.told = place
  if (line.unread && isBefore(line.unread, place)) return []
  line.unread = justBefore(place)
  const kept = line.rows.findIndex((row) => !isBefore(row, place))
  return kept < 0 ? [] : line.rows.splice(kept)
}

/**
 * Learns what an answer says that stands behind `unread`, to where it was told of something meanwhile.
 * @returns what is new in the line, which may be elsewhere
 */
export function extend(line: Line, found: readonly LinePlace[], isAll: boolean): LinePlace[] {
  const { told } = line
  const rows = told ? found.filter((row) => isBefore(row, told)) : [...found]
  const isWhole = rows.length === found.length
  if (isWhole && !isAll) line.unread = rows.at(-1) ?? line.unread
  else line.unread = told ? justBefore(told) : null
  return rows
}
