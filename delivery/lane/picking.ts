// The order among waiting mail: which of the deliveries that a lane knows of it claims next.
import type { InLine } from '../../db/deliveries/lines.ts'
import type { Rooms } from '../../mail/transport.ts'
import { classWeights } from '../../rules/mail/classes.ts'
import type { Line, Lines, WorkspaceLines } from './lines.ts'

/** The most lines of a class that are read for one claim. */
const READ_MAX = 100

export interface Asked {
  limit: number
  /** How many more deliveries each destination has room for. */
  rooms: Rooms
  /** ms: what is due later waits. */
  now: number
  /** Of each class how many were picked for the claim before. */
  taken: readonly number[]
}

export interface Picked {
  rows: InLine[]
  /** Lines whose turn it was, of which nothing is here: they have to be read first. */
  unread: Line[]
  /** Destinations that have no room for more, and for which more may wait. */
  full: string[]
}

/**
 * Takes up to `limit` deliveries out of the lines. The classes share the places of a claim, and the room of a destination, by
 * their weights; what one leaves free the others get. In a class workspaces take turns, and in a workspace its destinations, one
 * delivery at a time. Whose turn was last is last in the next claim.
 */
export function pick(lines: Lines, { limit, rooms, now, taken }: Asked): Picked {
  const left = new Map<string, number>()
  const full = new Set<string>()
  const unread: Line[] = []
  const roomIn = (destination: string) =>
    left.get(destination) ?? rooms.known.get(destination) ?? rooms.other

  /** The first delivery of a line if it can be sent now. */
  function take(workspace: WorkspaceLines, line: Line, wanting: Line[]): InLine | undefined {
    const { destination } = line
    const room = roomIn(destination)
    if (room <= 0) {
      full.add(destination)
      return
    }
    const [head] = line.rows
    if (!head && line.unread && wanting.length < READ_MAX) wanting.push(line)
    if (!head || head.at > now) return
    left.set(destination, room - 1)
    return lines.take(workspace, line)
  }

  /**
   * Takes of one workspace, a line after the other. A line that had its turn goes to the end of the map, where the loop
   * comes to it again; one that had nothing to give stays where it is.
   */
  function* ofWorkspace(workspace: WorkspaceLines, wanting: Line[]): Generator<InLine> {
    const before = wanting.length
    let hasAny = false
    for (const [name, line] of workspace.lines) {
      const row = take(workspace, line, wanting)
      if (!row) continue
      hasAny = true
      if (workspace.lines.delete(name)) workspace.lines.set(name, line)
      yield row
    }
    if (hasAny || wanting.length > before || !workspace.unswept) return
    // All lines that are here are full: others may have room.
    for (const line of [...workspace.lines.values()]) {
      if (roomIn(line.destination) <= 0) lines.forget(workspace, line)
    }
  }

  /** Takes of one workspace after the other, by the same turns. */
  function* ofClass(workspaces: Map<string, WorkspaceLines>, wanting: Line[]): Generator<InLine> {
    const begun = new Map<WorkspaceLines, Generator<InLine>>()
    for (const [name, workspace] of workspaces) {
      const rows = begun.get(workspace) ?? ofWorkspace(workspace, wanting)
      begun.set(workspace, rows)
      const { done, value } = rows.next()
      if (done) continue
      if (workspaces.delete(name)) workspaces.set(name, workspace)
      yield value
    }
  }

  const sides = lines.classes.map((workspaces, place) => {
    const wanting: Line[] = []
    const rows = ofClass(workspaces, wanting)
    return { weight: classWeights[place] ?? 1, taken: taken[place] ?? 0, wanting, rows }
  })
  const rows: InLine[] = []
  let open = sides
  while (rows.length < limit && open.length > 0) {
    const side = open.reduce((first, one) => (rankOf(one) < rankOf(first) ? one : first))
    const { done, value } = side.rows.next()
    if (done) open = open.filter((one) => one !== side)
    else {
      side.taken += 1
      rows.push(value)
    }
  }
  for (const { wanting } of sides) unread.push(...wanting)
  return { rows, unread, full: [...full] }
}

/** How often lines are read for one claim, while it has places left. */
const READS_MAX = 3

/** Picks for a claim, and reads the lines whose turn it was: what is read when the claim is full is there for the next one. */
export async function choose(
  lines: Lines,
  readMore: (unread: readonly Line[]) => Promise<void>,
  { limit, rooms, now }: Omit<Asked, 'taken'>,
): Promise<{ rows: InLine[]; full: string[]; more: boolean }> {
  const rows: InLine[] = []
  const known = new Map(rooms.known)
  const taken = classWeights.map(() => 0)
  let last: Picked = { rows: [], unread: [], full: [] }
  for (let reads = 0; reads <= READS_MAX && rows.length < limit; reads++) {
    last = pick(lines, { limit: limit - rows.length, rooms: { ...rooms, known }, now, taken })
    for (const { class: place, destination } of last.rows) {
      known.set(destination, (known.get(destination) ?? rooms.other) - 1)
      taken[place] = (taken[place] ?? 0) + 1
    }
    rows.push(...last.rows)
    if (last.unread.length === 0) break
    await readMore(last.unread)
  }
  return { rows, full: last.full, more: rows.length >= limit || last.unread.length > 0 }
}

/** The class with the lowest rank is next. */
const rankOf = ({ taken, weight }: { taken: number; weight: number }) => (taken + 1) / weight
