// The example of an event: Ada signs up, and the welcome series starts.
import { exampleAddress, exampleIds, exampleTime } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'
import type { AcceptedAutomationEvent, AutomationEvent, NewAutomationEvent } from './schemas.ts'

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
} satisfies Record<string, OperationExample>
