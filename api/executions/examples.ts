// The examples of the operations on executions: Ada waits in the welcome series, Grace's series is cancelled.
import type { z } from '@hono/zod-openapi'
import { exampleAddress, exampleIds, exampleTime, secondAddress } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'
import type { ExecutionEmail, ExecutionEmailList } from './emailSchemas.ts'
import type { Execution, ExecutionListItem, ExecutionStepList } from './schemas.ts'

const THREE_DAYS_MS = 3 * 86_400_000
const params = { id: exampleIds.execution }

const identity = {
  execution_id: exampleIds.execution,
  workflow_id: exampleIds.workflow,
  workspace_id: exampleIds.workspace,
  version_used: 1,
}

const waits = {
  status: 'WAITING',
  current_step_id: 'first_order',
  created_at: exampleTime,
  updated_at: exampleTime + 140,
  completed_at: null,
  error: null,
  cancellation_reason: null,
  wait_until: exampleTime + THREE_DAYS_MS + 120,
} as const

/** Ada's execution as lists show it. */
export const waitingExecution = {
  ...identity,
  ...waits,
  email: exampleAddress,
  step_count: 3,
} satisfies ExecutionListItem

/** Grace's execution before its first node. */
export const startedExecution = {
  ...identity,
  execution_id: exampleIds.secondExecution,
  status: 'IN_PROGRESS',
  current_step_id: '',
  context: { email: secondAddress, stepCount: 0 },
  created_at: exampleTime,
  updated_at: exampleTime,
  completed_at: null,
  error: null,
  cancellation_reason: null,
  wait_until: null,
  schedule_name: '',
} satisfies Execution

/** Ada's first mail. */
export const welcomeEmail = {
  email_id: exampleIds.welcomeEmail,
  subject: 'Welcome to Acme, Ada',
  created_at: exampleTime + 120,
  updated_at: exampleTime + 900,
  events: [
    { status: 'sent', timestamp: exampleTime + 120 },
    { status: 'delivered', timestamp: exampleTime + 900 },
  ],
  workflow_id: exampleIds.workflow,
  execution_id: exampleIds.execution,
} satisfies ExecutionEmail

export const executionExamples = {
  get: {
    params,
    answer: {
      ...identity,
      ...waits,
      context: { email: exampleAddress, stepCount: 3 },
      schedule_name: 'first_order/0',
    } satisfies Execution,
  },
  emails: {
    params,
    answer: { emails: [welcomeEmail], count: 1 } satisfies z.infer<typeof ExecutionEmailList>,
  },
  steps: {
    params,
    answer: {
      steps: [
        {
          seq: 1,
          node_id: 'signed_up',
          type: 'trigger',
          handle: 'default',
          why: 'user.signed_up',
          at: exampleTime + 120,
        },
        {
          seq: 2,
          node_id: 'welcome',
          type: 'send_email',
          handle: 'default',
          why: null,
          at: exampleTime + 120,
        },
        {
          seq: 3,
          node_id: 'first_order',
          type: 'wait_for_event',
          handle: null,
          why: null,
          at: exampleTime + 120,
        },
      ],
      count: 3,
      cursor: null,
    } satisfies z.infer<typeof ExecutionStepList>,
  },
  cancel: {
    params: { id: exampleIds.secondExecution },
    body: { reason: 'Started by mistake' },
    answer: {
      ...startedExecution,
      status: 'CANCELLED',
      current_step_id: 'first_order',
      context: { email: secondAddress, stepCount: 3 },
      updated_at: exampleTime + 60_000,
      completed_at: exampleTime + 60_000,
      cancellation_reason: 'Started by mistake',
    } satisfies Execution,
  },
} satisfies Record<string, OperationExample>
