// Lets few events of one contact into Postgres at once. They would wait there for its row one after the other, each with a
// connection that the rest of the workspace needs.

import { currentScope } from '../../db/scope.ts'
import { ClientGone, NoPlace, type Waiter, waitIn } from '../../db/shares.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'

/** One holds the row, and the next one is ready when it lets go. */
const AT_ONCE = 2

interface Line {
  inside: number
  waiting: Waiter[]
}

/** Makes the lines of one process. A contact has one while somebody is in it. */
export function createContactTurns(wait_ms: number = limits.placeWaitMsMax) {
  const lines = new Map<string, Line>()

  /**
   * Does the work when it is its turn among those of the same contact.
   * @param email the contact's address, in lower case
   * @throws NoPlace when those before it took too long, or at once when too many wait for this contact; ClientGone when the
   *   client of the request has gone
   */
  return async <T>(workspaceId: WorkspaceId, email: string, work: () => Promise<T>): Promise<T> => {
    const name = `${workspaceId} ${email}`
    const { signal } = currentScope()
    if (signal?.aborted) throw new ClientGone('the client has gone')
    const line = lines.get(name) ?? { inside: 0, waiting: [] }
    lines.set(name, line)
    if (line.inside < AT_ONCE) line.inside++
    else {
      if (line.waiting.length >= limits.placesWaitedForMax)
        throw new NoPlace('too many wait already')
      // Who is called takes over the place of who leaves.
      await waitIn(line, signal, wait_ms)
    }
    try {
      return await work()
    } finally {
      const next = line.waiting.shift()
      if (next) next.enter()
      else if (--line.inside === 0) lines.delete(name)
    }
  }
}
