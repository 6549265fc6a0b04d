// The end of an execution whose segment writes what Postgres refuses each time.
import type { InTrx } from '../../commands/transact.ts'
import { lockContact } from '../../db/contacts/writes.ts'
import { findSegmentState, insertSegment, type SegmentRow } from '../../db/executions/segments.ts'
import type { SegmentResult } from '../../workflows/messages.ts'
import type { ActivityDeps } from '../deps.ts'
import { failedSegment } from './giveUp.ts'

/** What is refused in so many tries is refused for good, and was no race with somebody else's change. */
export const REFUSALS_MAX = 3

/**
 * Ends the execution FAILED. None of the segment's steps is kept, since any of them may be what is refused.
 * @param sqlState says why; the text of the server may name values, and stays in the log
 */
export async function endRefused(
  deps: InTrx<Pick<ActivityDeps, 'db' | 'now' | 'addressMac'>>,
  execution: SegmentRow<SegmentResult>,
  segment: number,
  sqlState: string,
): Promise<SegmentResult> {
  const { id: executionId, workspace_id: workspaceId, contact_id, previous } = execution
  const contact = await lockContact(deps.db, workspaceId, contact_id)
  const now = deps.now()
  const hmac = deps.addressMac(workspaceId, contact?.email ?? '')
  const at = { executionId, segment, hmac, now }
  const state = await findSegmentState<SegmentResult>(deps.db, workspaceId, at)
  if (state.result) return state.result
  const after = previous ? `after ${previous.step}` : `from ${execution.trigger_node_id} on`
  const error = `what the nodes ${after} write cannot be stored (SQLSTATE ${sqlState})`
  const { step = '', step_count: stepCount = 0 } = previous ?? {}
  const writes = failedSegment({ executionId, segment, step, stepCount, steps: [] }, error)
  // The next try finds how it ended.
  if (!(await insertSegment(deps.db, workspaceId, { ...writes, now })))
    throw new Error('the execution ended while its segment failed')
  return writes.result
}
