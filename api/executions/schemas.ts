// Schemas of executions: the row in Postgres and, while they run, the state in Temporal.
import { z } from '@hono/zod-openapi'
import type { ExecutionRow, listSteps } from '../../db/executions/reads.ts'
import { limits } from '../../rules/limits.ts'
import { type ExecutionStatus, executionStatuses } from '../../rules/states.ts'
import type { TemporalExecution } from '../../runtime/temporalReads.ts'
import {
  contactEmailField,
  jsonObjectField,
  PageQuery,
  pageFields,
  textField,
} from '../http/fields.ts'

const status = z.enum(executionStatuses).openapi({
  description:
    '`IN_PROGRESS`: its next steps run now, or are about to. `WAITING`: it waits at a node. The others are ends: ' +
    '`COMPLETED`, `FAILED` (see `error`) and `CANCELLED` (see `cancellation_reason`)',
})

export const ExecutionsQuery = PageQuery.extend({
  status: z
    .enum(executionStatuses)
    .optional()
    .openapi({ description: 'Only executions with this status' }),
})

const stepCount = z.int().openapi({
  description: 'How many nodes it has entered, the trigger among them',
})

const ends = {
  created_at: z.int().openapi({ description: 'When it was started' }),
  updated_at: z.int().openapi({ description: 'When it last moved on, began to wait, or ended' }),
  completed_at: z.int().nullable().openapi({
    description: 'When it ended, in whatever way; null before that',
  }),
  error: z.string().nullable().openapi({ description: 'Why it `FAILED`, else null' }),
  cancellation_reason: z
    .string()
    .nullable()
    .openapi({
      description:
        'Why it was `CANCELLED`, else null: the `reason` of the request, or `cancelled` where it gave none; ' +
        '`unsubscribed`, `contact_deleted`; `terminated` in the Web UI of Temporal',
    }),
}

const identity = {
  execution_id: z.string(),
  workflow_id: z.string(),
  workspace_id: z.string(),
  version_used: z.int().openapi({
    description: 'The version of the workflow that it runs, from start to end',
  }),
  status,
  current_step_id: z.string().openapi({
    description: "The id of the node that it entered last; '' before the first",
  }),
}

export const ExecutionListItem = z
  .object({
    ...identity,
    email: z.string().openapi({ description: "The contact's address" }),
    step_count: stepCount,
    ...ends,
    wait_until: z.int().nullable().optional().openapi({
      description: 'Only while it is `WAITING`; null when the wait has no deadline',
    }),
  })
  .openapi('ExecutionListItem')
export type ExecutionListItem = z.infer<typeof ExecutionListItem>

export const Execution = z
  .object({
    ...identity,
    context: z.object({
      email: z.string().openapi({ description: "The contact's address" }),
      stepCount,
    }),
    ...ends,
    wait_until: z.int().nullable().openapi({
      description:
        'While it is `WAITING`: when the wait ends at the latest. null when it has no deadline, and in every other status',
    }),
    schedule_name: z.string().openapi({
      description: "The timer of the wait in Temporal; '' when there is none",
    }),
  })
  .openapi('Execution')
export type Execution = z.infer<typeof Execution>

export const ExecutionList = z
  .object({
    executions: z.array(ExecutionListItem),
    ...pageFields,
  })
  .openapi('ExecutionList')

export const ExecutionStep = z
  .object({
    seq: z.int().openapi({ description: 'Counts the steps from 1' }),
    node_id: z.string(),
    type: z.string().openapi({ description: 'The kind of the node, as `send_email`' }),
    handle: z.string().nullable().openapi({
      description:
        'The handle by which it left the node; null while it waits there, and at its end',
    }),
    why: z.string().nullable().openapi({
      description:
        'Why it took that handle, or did not do what the node is for; null where nothing needs a reason',
    }),
    at: z.int().openapi({ description: 'When it entered the node' }),
  })
  .openapi('ExecutionStep')
export type ExecutionStep = z.infer<typeof ExecutionStep>

export const ExecutionStepList = z
  .object({ steps: z.array(ExecutionStep), ...pageFields })
  .openapi('ExecutionStepList')

export const CancelExecution = z
  .object({
    reason: textField(limits.cancelReasonCharsMax)
      .nullish()
      .openapi({ description: 'Shown as `cancellation_reason`' }),
  })
  .openapi('CancelExecution')

export const StartExecution = z
  .object({
    email: contactEmailField.openapi({
      description: 'The contact to start it for, who is made when the address is new',
    }),
    properties: jsonObjectField.optional().openapi({
      description: 'What the workflow reads as `event.*`, as if an event had brought it',
    }),
  })
  .openapi('StartExecution')
export type StartExecution = z.infer<typeof StartExecution>

/**
 * The shown state: an end in Postgres, otherwise the state in Temporal, otherwise "not yet started in Temporal".
 */
function toState(row: ExecutionRow, live: TemporalExecution | undefined) {
  const known = row.ended_status ? undefined : live
  const status: ExecutionStatus = row.ended_status ?? live?.status ?? 'IN_PROGRESS'
  const isFailed = known?.status === 'FAILED'
  return {
    status,
    current_step_id: known?.memo?.step ?? row.current_step_id,
    step_count: known?.memo?.step_count ?? row.step_count,
    created_at: row.created_at.getTime(),
    updated_at: known?.closedAt ?? known?.memo?.updated_at ?? row.updated_at.getTime(),
    completed_at: known?.closedAt ?? row.completed_at?.getTime() ?? null,
    error: isFailed ? 'The execution was ended from outside' : row.error,
    cancellation_reason: known?.terminated ? 'terminated' : row.cancellation_reason,
    wait_until: status === 'WAITING' ? (known?.waitUntil ?? null) : null,
    schedule_name: status === 'WAITING' ? (known?.memo?.timer ?? '') : '',
  }
}

export function toExecutionListItem(
  row: ExecutionRow,
  live: TemporalExecution | undefined,
): ExecutionListItem {
  const { wait_until, schedule_name, step_count, status, current_step_id, ...rest } = toState(
    row,
    live,
  )
  return {
    execution_id: row.id,
    workflow_id: row.workflow_id,
    workspace_id: row.workspace_id,
    version_used: row.version,
    status,
    current_step_id,
    email: row.email,
    step_count,
    ...rest,
    ...(status === 'WAITING' ? { wait_until } : {}),
  }
}

export function toExecution(row: ExecutionRow, live: TemporalExecution | undefined): Execution {
  const { step_count, status, current_step_id, ...rest } = toState(row, live)
  return {
    execution_id: row.id,
    workflow_id: row.workflow_id,
    workspace_id: row.workspace_id,
    version_used: row.version,
    status,
    current_step_id,
    context: { email: row.email, stepCount: step_count },
    ...rest,
  }
}

type StepRow = Awaited<ReturnType<typeof listSteps>>[number]

export const toExecutionStep = (row: StepRow): ExecutionStep => ({
  seq: row.seq,
  node_id: row.node_id,
  type: row.type,
  handle: row.handle,
  why: row.why,
  at: row.at.getTime(),
})
