// The order among waiting mail: which of the deliveries that a lane knows of it claims next.
import type { InLine } from '../../db/deliveries/lines.ts'
import type { Rooms } from '../../mail/transport.ts'
import { classWeights } from '../../rules/mail/classes.ts'
import { givePlaces } from './givePlaces.ts'
import type { Line } from './line.ts'
import type { Lines } from './lines.ts'
import { roomIn } from './rooms.ts'
import type { WorkspaceLines } from './workspaceLines.ts'

/** The most lines of a class that are read at a time, and how often lines are read for one claim. */
const LINES_PER_READ_MAX = 100
const READS_MAX = 3

/** What a claim asks of the lines. */
export interface Asked {
  limit: number
  /** How many more deliveries each destination has room for. */
  rooms: Rooms
  /** ms: what is due later waits. */
  now: number
}

export interface Picked {
  rows: InLine[]
  /** Destinations that have no room for more, and for which more may wait. */
  full: string[]
  /** Whether more may be picked now. */
  more: boolean
  /** Of a claim that is full: lines whose turn it was, and of which nothing is here. Read meanwhile, they are there for the next. */
  ahead: Line[]
}

/** What was picked for a claim until now. */
interface Picking extends Asked {
  lines: Lines
  rows: InLine[]
  /** The room that is left in destinations of which some was picked. */
  left: Map<string, number>
  full: Set<string>
  /** Of each class how many were picked. */
  taken: number[]
}

/**
 * Takes up to `limit` deliveries out of the lines. The classes share the places of a claim, and the room of a destination, by
 * their weights; what one leaves free the others get. In a class workspaces take turns, and in a workspace its destinations, one
 * delivery at a time. Whose turn was last is last in the next claim, and a line that was read after its turn came is first.
 * @param readMore reads lines whose turn it was, and of which nothing is here, while the claim has places for them
 */
export async function pickForClaim(
  lines: Lines,
  readMore: (toRead: readonly Line[]) => Promise<void>,
  asked: Asked,
): Promise<Picked> {
  const taken = classWeights.map(() => 0)
  const picking = { ...asked, lines, rows: [], left: new Map(), full: new Set<string>(), taken }
  const isFull = () => picking.rows.length >= asked.limit
  givePlaces(lines, asked)
  let toRead: Line[] = []
  for (let reads = 0; reads < READS_MAX && !isFull(); reads++) {
    picking.full.clear()
    toRead = pick(picking)
    if (toRead.length === 0 || isFull()) break
    try {
      await readMore(toRead)
    } catch (err) {
      lines.reread(picking.rows)
      throw err
    }
  }
  const { rows, full } = picking
  const ahead = isFull() ? toRead : []
  return { rows, full: [...full], more: isFull() || toRead.length > 0, ahead }
}

/** Picks among what is here. @returns lines that have to be read first */
function pick(picking: Picking): Line[] {
  const { lines, rows, limit, taken } = picking
  let open = lines.classes.map((workspaces, place) => {
    const toRead: Line[] = []
    return { place, toRead, rows: ofClass(picking, workspaces, toRead) }
  })
  const sides = open
  /** The class with the lowest rank is next. */
  const rank = ({ place }: { place: number }) =>
    ((taken[place] ?? 0) + 1) / (classWeights[place] ?? 1)
  while (rows.length < limit && open.length > 0) {
    const side = open.reduce((first, one) => (rank(one) < rank(first) ? one : first))
    const { done, value } = side.rows.next()
    if (done) open = open.filter((one) => one !== side)
    else {
      taken[side.place] = (taken[side.place] ?? 0) + 1
      rows.push(value)
    }
  }
  return sides.flatMap(({ toRead }) => toRead)
}

/**
 * Takes of one workspace after the other. One that had its turn goes to the end of the map, where the loop comes to it
 * again; one that had nothing to give stays where it is.
 */
function* ofClass(
  picking: Picking,
  workspaces: Map<string, WorkspaceLines>,
  toRead: Line[],
): Generator<InLine> {
  const begun = new Map<WorkspaceLines, Generator<InLine>>()
  for (const [name, workspace] of workspaces) {
    const rows = begun.get(workspace) ?? ofWorkspace(picking, workspace, toRead)
    begun.set(workspace, rows)
    const { done, value } = rows.next()
    if (done) continue
    if (workspaces.delete(name)) workspaces.set(name, workspace)
    yield value
  }
}

/**
 * Takes of one line of a workspace after the other: first of those that have come back, then of the others in their turn. One of which
 * nothing is here waits from then on to be read.
 */
function* ofWorkspace(
  picking: Picking,
  workspace: WorkspaceLines,
  toRead: Line[],
): Generator<InLine> {
  const { turns, awaitingRead, returned } = workspace
  for (
    let line = awaitingRead.first;
    line && toRead.length < LINES_PER_READ_MAX;
    line = line.next
  ) {
    askFor(picking, line, toRead)
  }
  for (const queue of [returned, turns]) {
    for (let line = queue.first; line; ) {
      // Nothing else changes the queues of this workspace while a claim is picked.
      const { next } = line
      const isHere = line.rows.length > 0
      const row = isHere ? takeOf(picking, line) : undefined
      // The last one, behind which no other could give, has the next turn too.
      let again: Line | null = null
      if (row) {
        // One that was done with was forgotten.
        if (line.queue) turns.add(line)
        if (queue === turns && line.queue) again = line
        yield row
      } else if (!isHere) {
        awaitingRead.add(line)
        askFor(picking, line, toRead)
      }
      line = next ?? again
    }
  }
}

/** Has a line read of which nothing is here, unless nothing of it could be sent. */
function askFor(picking: Picking, line: Line, toRead: Line[]): void {
  const mayRead = line.unread && toRead.length < LINES_PER_READ_MAX
  if (mayRead && roomFor(picking, line) > 0) toRead.push(line)
}

/** The first delivery of a line if it can be sent now. */
function takeOf(picking: Picking, line: Line): InLine | undefined {
  const [head] = line.rows
  if (!head || head.at > picking.now) return
  const room = roomFor(picking, line)
  if (room <= 0) return
  picking.left.set(line.destination, room - 1)
  return picking.lines.take(line)
}

/** The room in the destination of a line. If there is none, that is noted. */
function roomFor({ left, rooms, full }: Picking, { destination }: Line): number {
  const room = left.get(destination) ?? roomIn(rooms, destination)
  if (room <= 0) full.add(destination)
  return room
}
