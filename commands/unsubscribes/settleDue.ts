// Carries out what people left by a GET of an unsubscribe link, when nobody has undone it for a minute.
import { lockContactNow } from '../../db/contacts/writes.ts'
import { isUnavailable } from '../../db/failures.ts'
import { type DueLeave, listDueLeaves, putOffLeave, takeLeave } from '../../db/opt-outs/leaves.ts'
import { hasLeftWorkflow } from '../../db/opt-outs/reads.ts'
import { confirmOptOut } from '../../db/opt-outs/writes.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { carryOutLeave } from './carryOut.ts'

const PAGE = 100
/** When one that failed is tried again. */
const RETRY_MS = 30_000
/** When one is tried again whose contact somebody held. */
const HELD_MS = 1_000

type Deps = Pick<CommandDeps, 'db' | 'now' | 'wake' | 'addressMac'>

/**
 * Carries out due leaves of all workspaces, one commit each. Any number of workers may do it at once. A contact that
 * somebody holds is passed over, so that nobody else waits for it.
 * @param onFailure called for one that could not be carried out; it is tried again later
 * @param signal ends it after the running commit
 * @returns how many were due, and whether there may be others
 * @throws if the database cannot be reached
 */
export async function settleDueLeaves(
  deps: Deps,
  onFailure: (err: unknown, leave: DueLeave) => void,
  signal?: AbortSignal,
): Promise<{ due: number; isMore: boolean }> {
  const due = await listDueLeaves(deps.db, deps.now(), PAGE)
  let moved = 0
  for (const leave of due) {
    if (signal?.aborted) break
    const retry_ms = await settleOne(deps, leave).then(
      (isDone) => (isDone ? null : HELD_MS),
      (err: unknown) => {
        if (isUnavailable(err)) throw err
        onFailure(err, leave)
        return RETRY_MS
      },
    )
    if (retry_ms === null || (await putOff(deps, leave, retry_ms))) moved++
  }
  return { due: due.length, isMore: due.length === PAGE && moved > 0 }
}

function putOff(deps: Deps, { workspace_id, id }: DueLeave, by_ms: number): Promise<boolean> {
  const until = new Date(deps.now().getTime() + by_ms)
  return transact.one(deps, ({ db }) => putOffLeave(db, workspace_id, id, until))
}

/** @returns false if somebody holds the contact */
function settleOne(deps: Deps, leave: DueLeave): Promise<boolean> {
  const { workspace_id: workspaceId, workflow_id: workflowId, contact_id: contactId } = leave
  return transact(deps, async (inTrx) => {
    const { db: trx, addressMac } = inTrx
    const contact = await lockContactNow(trx, workspaceId, contactId)
    if (contact === 'held') return false
    // Somebody has undone it, or another worker was first.
    const isThere = await takeLeave(trx, workspaceId, { workflowId, contactId })
    if (!isThere || !contact) return true
    const hmac = addressMac(workspaceId, contact.email)
    const left = { scope: 'workflow', targetId: workflowId, hmac } as const
    // The take-over may have made it certain, and carries out nothing.
    const isLeft =
      (await confirmOptOut(trx, workspaceId, left, 'link')) ||
      (await hasLeftWorkflow(trx, workspaceId, { workflowId, hmac }))
    if (!isLeft) return true
    const leaving = { workflowId, contactId, email: contact.email }
    await carryOutLeave(inTrx, workspaceId, leaving, deps.now())
    return true
  })
}
