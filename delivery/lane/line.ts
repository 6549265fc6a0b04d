// One line in the memory of a lane: the deliveries that wait first, and behind which place more may wait.
import type { LineKey, LinePlace } from '../../db/deliveries/lines.ts'

/** The first deliveries of a line. */
export interface Line extends LineKey {
  /** In their order, all before `unread` or at it. */
  rows: LinePlace[]
  /** Behind this place may be more that is not here; null: this is all. */
  unread: LinePlace | null
  /** Whether something behind that place was told of since it was last asked for. */
  isTold: boolean
}

/** A line of which nothing is known. */
export function emptyLine({ class: place, workspace_id, shard, destination }: LineKey): Line {
  return { class: place, workspace_id, shard, destination, rows: [], unread: null, isTold: false }
}

/** Where one delivery stands before another. */
export const isBefore = (a: LinePlace, b: LinePlace) =>
  a.at < b.at || (a.at === b.at && a.id < b.id)

/** Where a line stands among those of its workspace. */
export const keyOf = ({ shard, destination }: LineKey) => `${shard} ${destination}`

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
export function cut(line: Line, { at, id }: LinePlace): LinePlace[] {
  line.isTold = true
  if (line.unread && isBefore(line.unread, { at, id })) return []
  line.unread = { at, id: id - 1 }
  const kept = line.rows.findIndex((row) => !isBefore(row, { at, id }))
  return kept < 0 ? [] : line.rows.splice(kept)
}
