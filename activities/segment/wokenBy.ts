// What has woken an execution out of the wait of the segment before.
import type { SegmentState } from '../../db/executions/segments.ts'
import type { SegmentResult } from '../../workflows/messages.ts'

type Woken = Pick<SegmentState, 'consumed_by' | 'ended_by' | 'wait_until'>

/** Whether nothing but time has ended the wait, or a change that may bring its end nearer. */
export const isWokenByTime = (
  { consumed_by, ended_by }: Woken,
  previous: SegmentResult | null,
): boolean =>
  previous !== null && previous.next.kind !== 'call' && consumed_by === null && ended_by === null

/** Whether a change lets the wait, which goes on, be looked at before its time. */
export function isLookedAtSooner(state: Woken, previous: SegmentResult | null): boolean {
  const next = previous?.next
  if (!next || next.kind === 'end' || next.kind === 'call') return false
  if (!isWokenByTime(state, previous) || state.wait_until === null) return false
  // The row has whole ms.
  return next.until === null || state.wait_until < Math.floor(next.until)
}
