// Where a segment begins: at the trigger, or as what ended the wait or the call of the segment before says.
import type { SegmentState } from '../../db/executions/segmentState.ts'
import type { SegmentRow } from '../../db/executions/segments.ts'
import type { Design } from '../../rules/design/types.ts'
import { handleAfterWait } from '../../rules/interpreter.ts'
import type {
  CallResult,
  SegmentFacts,
  SegmentStart,
  WaitEnd,
} from '../../rules/interpreterTypes.ts'
import type { SegmentResult } from '../../workflows/messages.ts'
import { isLookedAtSooner } from './wokenBy.ts'

export interface StartFrom {
  execution: SegmentRow
  design: Design
  state: SegmentState
  facts: SegmentFacts
  previous: SegmentResult | null
  /** How the call ended in which the segment before did; null: it did in none. */
  called: CallResult | null
}

/**
 * Where the segment begins. What ended the wait is decided by the row of the wait, not by the timer.
 */
export function startOf({
  execution,
  design,
  state,
  facts,
  previous,
  called,
}: StartFrom): SegmentStart {
  if (!previous || previous.next.kind === 'end') {
    return { kind: 'trigger', nodeId: execution.trigger_node_id }
  }
  const { next } = previous
  const { nodeId } = next
  if (called) return { kind: 'called', nodeId, result: called }
  const resume = (end: WaitEnd): SegmentStart => ({
    kind: 'resume',
    nodeId,
    handle: handleAfterWait(design, nodeId, end),
  })
  if (state.consumed_by !== null) return resume('event')
  switch (state.ended_by) {
    case 'condition':
      return resume('condition')
    case 'goal': {
      const by = { kind: 'goal', nodeId: state.leads_to ?? '' } as const
      return { kind: 'interrupted', nodeId, by }
    }
    case 'exited':
    case 'max_duration':
      return { kind: 'interrupted', nodeId, by: { kind: 'end', outcome: state.ended_by } }
    case 'moved':
      // What the moment is now counts as of now.
      return { kind: 'again', nodeId, since: facts.now }
    default:
      if (next.kind === 'wait' && next.held) {
        // Released, or woken by time, when it may be paused or not.
        const isHeld = facts.isPaused === true
        return isHeld ? { kind: 'held', nodeId, since: next.since } : { kind: 'released', nodeId }
      }
      if (isLookedAtSooner(state, previous) || (next.kind === 'wait' && next.again)) {
        return { kind: 'again', nodeId, since: sinceOf(next, state) }
      }
      return resume('timer')
  }
}

/** When a wait began, ms: the older forms do not say. */
const sinceOf = (next: SegmentResult['next'], { waited_since }: SegmentState): number =>
  'since' in next ? next.since : (waited_since ?? 0)
