// The end of an execution whose segment has ended worker after worker while it ran alone.
import type { SegmentRow, SegmentWrites } from '../../db/executions/segments.ts'
import type { Design } from '../../rules/design/types.ts'
import { limits } from '../../rules/limits.ts'
import type { SegmentResult } from '../../workflows/messages.ts'
import { withClosedError } from './failures.ts'

const WHY = `the worker ended ${limits.suspectDeathsMax} times while it ran this node alone`

type Failed = Omit<SegmentWrites, 'now' | 'result'> & { result: SegmentResult }

/** The rows and the result of a segment that fails at the node where the worker ended. */
export function giveUp(
  execution: SegmentRow<SegmentResult>,
  segment: number,
  { nodes }: Design,
): Failed {
  const { previous } = execution
  const step = execution.suspect_step || previous?.step || execution.trigger_node_id
  const type = nodes.find(({ id }) => id === step)?.type ?? ''
  const stepCount = (previous?.step_count ?? 0) + 1
  const steps = [{ seq: stepCount, node_id: step, type, handle: null, why: WHY }]
  return failedSegment(
    { executionId: execution.id, segment, step, stepCount, steps },
    `node ${step}: ${WHY}`,
  )
}

/** The rows and the result of a segment that ends its execution FAILED. */
export function failedSegment(
  at: { step: string; stepCount: number } & Pick<Failed, 'executionId' | 'segment' | 'steps'>,
  error: string,
): Failed {
  const { executionId, segment, step, stepCount, steps } = at
  return {
    executionId,
    segment,
    result: withClosedError({
      next: { kind: 'end', status: 'FAILED', error },
      step,
      step_count: stepCount,
    }),
    steps,
    isReleased: false,
    left: null,
    waits: [],
    depth: null,
    end: {
      status: 'FAILED',
      stepId: step,
      stepCount,
      outcome: null,
      error,
      reason: null,
      code: null,
    },
  }
}
