// Gives the places that full lines have in the memory of a lane to others of their workspace that are not here.
import type { Rooms } from '../../mail/transport.ts'
import type { Lines } from './lines.ts'
import { roomIn } from './rooms.ts'
import type { WorkspaceLines } from './workspaceLines.ts'

/** How seldom the lines of a workspace are looked through. */
const GIVE_UP_MS = 1_000
/** About how many lines are looked through for one claim: all of a lane would take as long as the claim. */
const LINES_MAX = 5_000

/**
 * Where no room is left for half of the lines of a workspace or more, their places go to others that are not here: these may have
 * room, unless there is none anywhere. While most have some, places become free as these are sent. It is called before each claim, and
 * looks at the workspaces first that it has looked at longest ago.
 */
export function givePlaces(lines: Lines, { rooms, now }: { rooms: Rooms; now: number }): void {
  if (rooms.other <= 0) return
  // A clock that was set back must keep no workspace waiting.
  const lookedAt = ({ fullLookAt }: WorkspaceLines) =>
    fullLookAt > now ? Number.NEGATIVE_INFINITY : fullLookAt
  const due = lines.partial().filter((one) => now - lookedAt(one) >= GIVE_UP_MS)
  due.sort((a, b) => lookedAt(a) - lookedAt(b))
  let looked = 0
  for (const workspace of due) {
    if (looked >= LINES_MAX) return
    looked += workspace.lines.size
    workspace.fullLookAt = now
    const full = [...workspace.lines.values()].filter(
      ({ destination }) => roomIn(rooms, destination) <= 0,
    )
    if (full.length > 0 && 2 * full.length >= workspace.lines.size) lines.giveUp(workspace, full)
  }
}
