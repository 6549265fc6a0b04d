// Lets go of the executions that a workflow held while it was paused, or cancels them: a page at a time, oldest first.

import { lockContactUnlessHeld } from '../../db/contacts/writes.ts'
import { stopMailOfExecutions } from '../../db/deliveries/stop.ts'
import { findHeld, type HeldRow, listHeld, releaseExecution } from '../../db/executions/held.ts'
import { cancelExecutions, lockExecution } from '../../db/executions/writes.ts'
import type { OwnReason } from '../../rules/cancelReasons.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

type Deps = Pick<CommandDeps, 'db' | 'now' | 'wake'>

/** With a pause of a second between two pages about as many as a small machine completes. */
const PAGE = 50

const REASON = { code: 'cancelled', reason: 'held' } as const satisfies {
  reason: OwnReason
  code: string
}

/** How long one page takes at most: it keeps one of few places meanwhile. */
const PAGE_MS_MAX = 2_000

/**
 * Does one page. What was done is not found again, so it may be repeated and stopped at any moment. A workflow that is not active
 * any more keeps what it holds. An execution whose contact somebody holds is left to a later walk, and others behind it are let go in its
 * place. No workspace is needed: the row of the workflow has it.
 * @param after where the page before has ended; '' begins a walk
 * @returns `more`: whether any may be held still; `after`: where the next page begins. `more` without `after`: the walk is over and has left some, so
 *   another begins
 */
export async function releaseHeld(
  deps: Deps,
  { workflowId, after = '', page = PAGE, time_ms = PAGE_MS_MAX }: PageOfHeld,
): Promise<{ more: boolean; after?: string }> {
  let done = 0
  // What earlier pages of this walk have left is not known: it counts as one, so that another walk looks.
  let left = after === '' ? 0 : 1
  let place = after
  const until_ms = performance.now() + time_ms
  for (;;) {
    const rows = await listHeld(deps.db, workflowId, { after: place, limit: page })
    for (const row of rows) {
      if (await letGo(deps, workflowId, row)) done += 1
      else left += 1
      place = row.execution_id
      if (performance.now() > until_ms) return { more: true, after: place }
    }
    if (rows.length < page) return { more: left > 0 }
    if (done >= page) return { more: true, after: place }
  }
}

interface PageOfHeld {
  workflowId: string
  after?: string | undefined
  page?: number
  /** After how long it ends, ms; one execution at least has been looked at then. */
  time_ms?: number
}

/**
 * One execution, in a commit of its own. Since the page was read a goal may have taken it out of its hold, or the workflow may be paused
 * again.
 * @returns false if somebody holds its contact
 */
function letGo(
  deps: Deps,
  workflowId: string,
  { execution_id: executionId, workspace_id: workspaceId, contact_id }: HeldRow,
): Promise<boolean> {
  return transact(deps, async ({ db: trx, now, wake }) => {
    if ((await lockContactUnlessHeld(trx, workspaceId, contact_id)) === 'held') return false
    await lockExecution(trx, workspaceId, executionId)
    const held = await findHeld(trx, workspaceId, { workflowId, executionId })
    if (!held) return true
    if (held.action === 'release') await releaseExecution(trx, workspaceId, executionId, now())
    else {
      await cancelExecutions(trx, workspaceId, { executionId }, REASON, now())
      await stopMailOfExecutions(trx, workspaceId, [executionId], now())
    }
    wake('dripline_outbox')
    return true
  })
}
