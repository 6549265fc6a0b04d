// Gives the places that full lines have in the memory of a lane to others of their workspace that are not here.
import type { Rooms } from '../../mail/transport.ts'
import type { Lines } from './lines.ts'

/** How seldom the lines of a workspace are looked through. */
const GIVE_UP_MS = 1_000
/** About how many lines are looked through for one claim: all of a lane would take as long as the claim. */
const LINES_MAX = 5_000

/**
 * Where no room is left for half of the lines of a workspace or more, their places go to others that are not here: these may have
 * room, unless the transport has none for further destinations. While most have some, places become free as these are sent. It is called
 * before each claim, and begins with the workspace at which it has not looked for longest.
 */
export function givePlaces(lines: Lines, { rooms, now }: { rooms: Rooms; now: number }): void {
  if (rooms.other <= 0) return
  const full = new Set<string>()
  for (const [destination, room] of rooms.known) if (room <= 0) full.add(destination)
  if (full.size === 0) return
  let looked = 0
  for (const workspace of lines.toLookThrough()) {
    // A clock that was set back must keep no workspace waiting.
    if (Math.abs(now - workspace.fullLookAt) < GIVE_UP_MS || looked >= LINES_MAX) return
    looked += workspace.lines.size
    workspace.fullLookAt = now
    const given = [...workspace.lines.values()].filter(({ destination }) => full.has(destination))
    if (given.length > 0 && 2 * given.length >= workspace.lines.size) lines.giveUp(workspace, given)
  }
}
