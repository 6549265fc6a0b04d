// The examples of what a workflow has done: Ada's execution and mail, and a start by hand for Grace.
import type { z } from '@hono/zod-openapi'
import type { WorkflowEmailList } from '../executions/emailSchemas.ts'
import { startedExecution, waitingExecution, welcomeEmail } from '../executions/examples.ts'
import type { ExecutionList } from '../executions/schemas.ts'
import { exampleAddress, exampleIds, secondAddress } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'

const params = { id: exampleIds.workflow }

export const workflowExecutionExamples = {
  list: {
    params,
    query: { status: 'WAITING' },
    answer: {
      executions: [waitingExecution],
      count: 1,
      cursor: null,
    } satisfies z.infer<typeof ExecutionList>,
  },
  emails: {
    params,
    answer: {
      emails: [{ ...welcomeEmail, recipient: exampleAddress }],
      count: 1,
      cursor: null,
    } satisfies z.infer<typeof WorkflowEmailList>,
  },
  start: {
    params,
    body: { email: secondAddress, properties: { plan: 'free' } },
    answer: startedExecution,
  },
} satisfies Record<string, OperationExample>
