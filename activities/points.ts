// The trace points of a segment and its call, for who subscribes to the channel `dripline:segment`
// (docs/operating.md#trace-points).
import { channel } from 'node:diagnostics_channel'
import type { SegmentInput } from '../workflows/messages.ts'

/**
 * In the order in which a segment passes them. `committed` comes after the commit and before Temporal learns the result;
 * `called` comes when the other service has answered, and `recorded` when its answer is committed.
 */
export type SegmentPoint =
  | 'begin'
  | 'locked'
  | 'walked'
  | 'written'
  | 'committed'
  | 'call'
  | 'called'
  | 'recorded'

const points = channel('dripline:segment')

/** Tells subscribers, at once, that a segment passes a point. It costs nothing while there are none. */
export function passPoint(point: SegmentPoint, { executionId, segment }: SegmentInput): void {
  if (points.hasSubscribers) points.publish({ point, execution_id: executionId, segment })
}
