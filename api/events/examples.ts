// The example of an event: Ada signs up, and the welcome series starts.
import type { z } from '@hono/zod-openapi'
import { exampleAddress, exampleIds, exampleTime, secondAddress } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'
import type {
  AcceptedAutomationEvent,
  AutomationEvent,
  AutomationEventBatchResult,
  NewAutomationEvent,
} from './schemas.ts'

const signUp = {
  event_id: 'signup-1815',
  event_name: 'user.signed_up',
  email: exampleAddress,
}

const recorded = {
  ...signUp,
  workspace_id: exampleIds.workspace,
  timestamp: exampleTime,
  created_at: exampleTime,
}

const viewed = { event_id: 'view-7', event_name: 'page.viewed', email: secondAddress }

/** The event as a contact's list shows it. */
export const signUpEvent = {
  ...recorded,
  properties: { plan: 'free' },
} satisfies AutomationEvent

export const eventExamples = {
  post: {
    body: {
      ...signUp,
      properties: { plan: 'free' },
      contact_properties: { first_name: 'Ada', birthday: '12-10' },
    } satisfies NewAutomationEvent,
    answer: {
      ...recorded,
      executions: [exampleIds.execution],
      deduplicated: false,
    } satisfies AcceptedAutomationEvent,
  },
  batch: {
    body: {
      events: [
        { ...viewed, properties: { path: '/pricing' } } satisfies NewAutomationEvent,
        { event_name: 'page viewed', email: secondAddress } satisfies NewAutomationEvent,
      ],
    },
    answer: {
      events: [
        {
          ...viewed,
          workspace_id: exampleIds.workspace,
          timestamp: exampleTime,
          created_at: exampleTime,
          executions: [],
          deduplicated: false,
        },
      ],
      errors: [
        {
          index: 1,
          message:
            'event_name must be 1-128 letters, digits or . _ - : /, such as order.placed, not "page viewed"',
          code: 'invalid_request',
        },
      ],
    } satisfies z.infer<typeof AutomationEventBatchResult>,
  },
} satisfies Record<string, OperationExample>
