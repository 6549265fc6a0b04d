// Cancels the contact's executions of a workflow.
import { z } from 'zod'
import { checkText, checkWorkflowId } from '../design/fieldChecks.ts'
import { limits } from '../limits.ts'
import { defineNode, mayFail, never, noConditions } from './define.ts'
import { workflowId } from './fields.ts'
import { CHAIN_TOO_LONG, failedText } from './moves.ts'

export const cancelWorkflow = defineNode({
  type: 'cancel_workflow',
  summary:
    "Cancels the contact's running executions of a workflow. One that names its own workflow is cancelled itself, too.",
  data: z.object({
    workflow_id: workflowId,
    reason: z
      .string()
      .max(limits.nameCharsMax)
      .describe('Shown with the cancelled executions')
      .meta({ default: 'cancelled' })
      .exactOptional(),
  }),
  handles: mayFail,
  handleTexts: {
    default: 'They are cancelled; `why` says how many',
    failed: failedText(CHAIN_TOO_LONG),
  },
  waits: never,
  check: (at) => [
    ...checkWorkflowId(at, 'workflow_id'),
    ...checkText(at, 'reason', limits.nameCharsMax),
  ],
  conditions: noConditions,
  names: ({ workflow_id }) => ({ workflowIds: [workflow_id] }),
  enter: ({ workflow_id, reason }) => ({
    effect: { kind: 'cancel_workflow', workflowId: workflow_id, reason: reason || null },
    why: null,
  }),
})
