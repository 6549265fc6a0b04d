// Executions as the API shows them: the row in Postgres and, while they live, what Temporal knows.
import { z } from '@hono/zod-openapi'
import type { ExecutionEmailRow } from '../../db/emails/ofExecutions.ts'
import type { ExecutionRow, listSteps } from '../../db/executions/reads.ts'
import { limits } from '../../rules/limits.ts'
import { type ExecutionStatus, executionStatuses } from '../../rules/states.ts'
import type { TemporalExecution } from '../../runtime/temporalReads.ts'
import { contactEmailField, jsonObjectField, PageQuery, textField } from '../http/fields.ts'

const status = z.enum(executionStatuses)

export const ExecutionsQuery = PageQuery.extend({ status: status.optional() })

const ends = {
  created_at: z.int(),
  updated_at: z.int(),
  completed_at: z.int().nullable(),
  error: z.string().nullable(),
  cancellation_reason: z.string().nullable(),
}

const identity = {
  execution_id: z.string(),
  workflow_id: z.string(),
  workspace_id: z.string(),
  version_used: z.int(),
  status,
  current_step_id: z.string().openapi({ description: 'The node now entered or waited on' }),
}

export const ExecutionListItem = z
  .object({
    ...identity,
    email: z.string(),
    step_count: z.int(),
    ...ends,
    wait_until: z.int().nullable().optional().openapi({
      description: 'Only on a WAITING execution; null when it waits without a deadline',
    }),
  })
  .openapi('ExecutionListItem')
export type ExecutionListItem = z.infer<typeof ExecutionListItem>

export const Execution = z
  .object({
    ...identity,
    context: z.object({ email: z.string(), stepCount: z.int() }),
    ...ends,
    wait_until: z.int().nullable(),
    schedule_name: z.string().openapi({ description: 'The durable timer of the wait, or empty' }),
  })
  .openapi('Execution')
export type Execution = z.infer<typeof Execution>

export const ExecutionList = z
  .object({
    executions: z.array(ExecutionListItem),
    count: z.int(),
    cursor: z.string().nullable(),
  })
  .openapi('ExecutionList')

const emailFields = {
  email_id: z.string(),
  subject: z.string(),
  created_at: z.int(),
  updated_at: z.int(),
  events: z.array(z.object({ status: z.string(), timestamp: z.int() })),
  workflow_id: z.string(),
  execution_id: z.string(),
}

export const ExecutionEmail = z.object(emailFields).openapi('ExecutionEmail')
export type ExecutionEmail = z.infer<typeof ExecutionEmail>

export const ExecutionEmailList = z
  .object({ emails: z.array(ExecutionEmail), count: z.int() })
  .openapi('ExecutionEmailList')

export const WorkflowEmail = z
  .object({ ...emailFields, recipient: z.string() })
  .openapi('WorkflowEmail')
export type WorkflowEmail = z.infer<typeof WorkflowEmail>

export const WorkflowEmailList = z
  .object({ emails: z.array(WorkflowEmail), count: z.int(), cursor: z.string().nullable() })
  .openapi('WorkflowEmailList')

export const ExecutionStep = z
  .object({
    seq: z.int(),
    node_id: z.string(),
    type: z.string(),
    handle: z
      .string()
      .nullable()
      .openapi({ description: 'The way that was taken out of the node' }),
    why: z.string().nullable(),
    at: z.int(),
  })
  .openapi('ExecutionStep')
export type ExecutionStep = z.infer<typeof ExecutionStep>

export const ExecutionStepList = z
  .object({ steps: z.array(ExecutionStep), count: z.int(), cursor: z.string().nullable() })
  .openapi('ExecutionStepList')

export const CancelExecution = z
  .object({ reason: textField(limits.cancelReasonCharsMax).nullish() })
  .openapi('CancelExecution')

export const StartExecution = z
  .object({ email: contactEmailField, properties: jsonObjectField.optional() })
  .openapi('StartExecution')
export type StartExecution = z.infer<typeof StartExecution>

/** The state that is shown: an end in Postgres wins, then Temporal, then "decided and not yet there". */
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

export const toExecutionEmail = (row: ExecutionEmailRow): ExecutionEmail => ({
  email_id: row.id,
  subject: row.subject,
  created_at: row.created_at.getTime(),
  updated_at: row.events.at(-1)?.at ?? row.created_at.getTime(),
  events: row.events.map(({ status, at }) => ({ status, timestamp: at })),
  workflow_id: row.workflow_id,
  execution_id: row.execution_id,
})

export const toWorkflowEmail = (row: ExecutionEmailRow): WorkflowEmail => ({
  ...toExecutionEmail(row),
  recipient: row.recipient,
})

type StepRow = Awaited<ReturnType<typeof listSteps>>[number]

export const toExecutionStep = (row: StepRow): ExecutionStep => ({
  seq: row.seq,
  node_id: row.node_id,
  type: row.type,
  handle: row.handle,
  why: row.why,
  at: row.at.getTime(),
})
