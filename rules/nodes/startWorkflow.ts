// Starts another workflow for the same contact.
import { z } from 'zod'
import { anyObject } from '../conditions/schema.ts'
import { checkWorkflowId } from '../design/fieldChecks.ts'
import { defineNode, mayFail, never, noConditions } from './define.ts'
import { workflowId } from './fields.ts'
import { checkMadeProperties, makeProperties } from './madeProperties.ts'
import { CHAIN_TOO_LONG, failedText, failStep } from './moves.ts'

export const startWorkflow = defineNode({
  type: 'start_workflow',
  summary: 'Starts another workflow for the same contact, at its first trigger or the one by hand.',
  data: z.object({
    workflow_id: workflowId,
    properties: anyObject
      .describe(
        'What that execution reads as `event.*`. Texts are Liquid; `{"var": "event.plan"}` stands for the value of that field',
      )
      .exactOptional(),
  }),
  handles: mayFail,
  handleTexts: {
    default:
      'It was started, or refused: it is not active, its `re_entry` says no, or the contact has left it. `why` says which',
    failed: failedText(`a text of its properties does not render, or ${CHAIN_TOO_LONG}`),
  },
  waits: never,
  check: (at) => [...checkWorkflowId(at, 'workflow_id'), ...checkMadeProperties(at)],
  conditions: noConditions,
  names: ({ workflow_id }) => ({ workflowIds: [workflow_id] }),
  enter({ workflow_id, properties = {} }, place) {
    const made = makeProperties(properties, place)
    if (!made.ok) return failStep(made.why, place)
    const effect = {
      kind: 'start_workflow',
      workflowId: workflow_id,
      properties: made.properties,
    } as const
    return { effect, why: null }
  },
})
