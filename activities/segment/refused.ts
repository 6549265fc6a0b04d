// The end of an execution whose segment writes what Postgres refuses each time.
import { LRUCache } from 'lru-cache'
import type { InTrx } from '../../commands/transact.ts'
import { lockContact } from '../../db/contacts/writes.ts'
import { findSegmentState } from '../../db/executions/segmentState.ts'
import { insertSegment, type SegmentRow } from '../../db/executions/segments.ts'
import type { SegmentResult } from '../../workflows/messages.ts'
import type { ActivityDeps } from '../deps.ts'
import { failedSegment } from './giveUp.ts'

const TIMES = 3
/**
 * A constraint (class 23) may refuse for a time only: in a race, or because of a new constraint while workers of the
 * release before still run.
 */
const CONSTRAINT_MS = 10 * 60 * 1000
const CONSTRAINT = '23'
/** Segments whose refusals one worker counts. One that is forgotten is counted from the beginning. */
const COUNTED_MAX = 50_000

interface Count {
  sqlState: string
  times: number
  /** When the first of them came. */
  since_ms: number
}

export type Refusals = ReturnType<typeof createRefusals>

/**
 * Counts what Postgres refuses for its data, by segment. It counts refusals alone, since a try may fail for many reasons
 * that pass. A worker that starts anew, or gets the segment of another one, counts from the beginning.
 */
export function createRefusals() {
  const counts = new LRUCache<string, Count>({ max: COUNTED_MAX })
  return {
    /**
     * Counts a refusal. @returns whether the segment would be refused for good: the third time in a row for the same
     * reason, by a constraint in ten minutes at least
     * @param sqlState of class 22 (data) or 23 (a constraint)
     */
    isFinal(id: string, sqlState: string, now: Date): boolean {
      const before = counts.get(id)
      const isSame = before?.sqlState === sqlState
      const since_ms = isSame ? before.since_ms : now.getTime()
      const times = isSame ? before.times + 1 : 1
      counts.set(id, { sqlState, times, since_ms })
      const wanted_ms = sqlState.startsWith(CONSTRAINT) ? CONSTRAINT_MS : 0
      return times >= TIMES && now.getTime() - since_ms >= wanted_ms
    },
    forget: (id: string): void => void counts.delete(id),
  }
}

/** @param sqlState says why; the text of the server may name values, and stays in the log */
export function refusedError(
  { previous, trigger_node_id }: SegmentRow<SegmentResult>,
  sqlState: string,
): string {
  const after = previous ? `after ${previous.step}` : `from ${trigger_node_id} on`
  return `what the nodes ${after} write cannot be stored (SQLSTATE ${sqlState})`
}

/** Ends the execution FAILED. None of the segment's steps is kept, and nothing else that they did. */
export async function endFailed(
  deps: InTrx<Pick<ActivityDeps, 'db' | 'now' | 'addressMac'>>,
  execution: SegmentRow<SegmentResult>,
  segment: number,
  error: string,
): Promise<SegmentResult> {
  const { id: executionId, workspace_id: workspaceId, contact_id, previous } = execution
  const contact = await lockContact(deps.db, workspaceId, contact_id)
  const now = deps.now()
  const hmac = deps.addressMac(workspaceId, contact?.email ?? '')
  const at = { executionId, segment, waitedAt: '', hmac, now }
  const state = await findSegmentState<SegmentResult>(deps.db, workspaceId, at)
  if (state.result) return state.result
  const { step = '', step_count: stepCount = 0 } = previous ?? {}
  const writes = failedSegment({ executionId, segment, step, stepCount, steps: [] }, error)
  // The next try finds how it ended.
  if (!(await insertSegment(deps.db, workspaceId, { ...writes, now })))
    throw new Error('the execution ended while its segment failed')
  return writes.result
}
