// What a run learns that is behind Postgres, as one that was reset in the Web UI of Temporal: of an execution that has ended, that it is
// to end as its row did; of a segment that is long over, that the next one follows.
import { type InTrx, transact } from '../../commands/transact.ts'
import type { SegmentState } from '../../db/executions/segmentState.ts'
import type { SegmentRow } from '../../db/executions/segments.ts'
import { cancelAgain } from '../../db/executions/writes.ts'
import { toCancelCode } from '../../rules/wire.ts'
import type { SegmentResult } from '../../workflows/messages.ts'
import type { ActivityDeps } from '../deps.ts'

/** True when the row has ended and the stored result of the segment, if any, does not say so. */
export function isEndedElsewhere(
  { ended_status }: Pick<SegmentRow, 'ended_status'>,
  result: SegmentResult | null,
): boolean {
  return ended_status !== null && result?.next.kind !== 'end'
}

/**
 * The stored result of a segment that ran before. One that cancelled its execution waits for a cancel request, which is sent again
 * unless it is on its way: a run that was reset has not got it.
 */
export async function storedAgain(
  deps: Pick<ActivityDeps, 'db' | 'now' | 'wake'>,
  { id: executionId, workspace_id, cancellation_reason }: SegmentRow,
  result: SegmentResult,
): Promise<SegmentResult> {
  if (result.next.kind !== 'end' || result.next.status !== 'CANCELLED') return result
  const code = toCancelCode(cancellation_reason)
  return transact(deps, async ({ db, now, wake }) => {
    await cancelAgain(db, workspace_id, { executionId, code }, now())
    wake('dripline_outbox')
    return result
  })
}

/**
 * What a segment gives whose result is kept no more: that its wait is over, so that the run asks for the next one until it is where the
 * execution is.
 */
export const pastBy = ({ step, step_count }: SegmentResult): SegmentResult => ({
  ...{ next: { kind: 'sleep', nodeId: step, until: 0 }, step, step_count },
})

/** The end as the row has it. A cancelled run ends by a cancel request, which is sent again unless it is on its way. */
export async function endAsRow(
  { db, now, wake }: InTrx<Pick<ActivityDeps, 'db' | 'now' | 'wake'>>,
  { id: executionId, workspace_id, previous }: SegmentRow<SegmentResult>,
  { ended_status, error, cancellation_reason }: SegmentState,
): Promise<SegmentResult> {
  const status = ended_status ?? 'CANCELLED'
  if (status === 'CANCELLED') {
    const code = toCancelCode(cancellation_reason)
    await cancelAgain(db, workspace_id, { executionId, code }, now())
    wake('dripline_outbox')
  }
  const next = { kind: 'end', status, error } as const
  return { next, step: previous?.step ?? '', step_count: previous?.step_count ?? 0 }
}
