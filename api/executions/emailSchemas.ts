// Schemas of the emails of executions.
import { z } from '@hono/zod-openapi'
import type { ExecutionEmailRow } from '../../db/emails/ofExecutions.ts'
import { pageFields } from '../http/fields.ts'

const emailFields = {
  email_id: z.string(),
  subject: z.string(),
  created_at: z.int(),
  updated_at: z.int().openapi({ description: 'When the last of its `events` happened' }),
  events: z
    .array(
      z.object({
        status: z.string().openapi({
          description: '`sent`, `delivered`, `opened`, `clicked` or `bounced`',
        }),
        timestamp: z.int(),
      }),
    )
    .openapi({ description: 'What became of it, oldest first' }),
  workflow_id: z.string(),
  execution_id: z.string(),
}

export const ExecutionEmail = z.object(emailFields).openapi('ExecutionEmail')
export type ExecutionEmail = z.infer<typeof ExecutionEmail>

export const ExecutionEmailList = z
  .object({ emails: z.array(ExecutionEmail), count: z.int() })
  .openapi('ExecutionEmailList')

export const WorkflowEmail = z
  .object({ ...emailFields, recipient: z.string().openapi({ description: 'An address' }) })
  .openapi('WorkflowEmail')
export type WorkflowEmail = z.infer<typeof WorkflowEmail>

export const WorkflowEmailList = z
  .object({ emails: z.array(WorkflowEmail), ...pageFields })
  .openapi('WorkflowEmailList')

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
