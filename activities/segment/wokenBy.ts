// What has woken an execution out of the wait of the segment before.
import type { SegmentState } from '../../db/executions/segmentState.ts'
import type { SegmentResult } from '../../workflows/messages.ts'

type Woken = Pick<SegmentState, 'consumed_by' | 'ended_by' | 'wait_until'>

/** Whether the row of the wait is open: time has woken the execution, a release, or a change after which it is looked at sooner. */
export const isRowOpen = (
  { consumed_by, ended_by }: Woken,
  previous: SegmentResult | null,
): boolean =>
  previous !== null && previous.next.kind !== 'call' && consumed_by === null && ended_by === null

/** Whether a change lets the wait, which goes on, be looked at before its time. */
export function isLookedAtSooner(state: Woken, previous: SegmentResult | null): boolean {
  const next = previous?.next
  if (!next || next.kind === 'end' || next.kind === 'call') return false
  if (!isRowOpen(state, previous) || state.wait_until === null) return false
  // The row has whole ms.
  return next.until === null || state.wait_until < Math.floor(next.until)
}
