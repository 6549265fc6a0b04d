// The examples of the operations on automation contacts: Ada, who has signed up and has had one mail.
import type { z } from '@hono/zod-openapi'
import { signUpEvent } from '../events/examples.ts'
import type { AutomationEvent, AutomationEventList } from '../events/schemas.ts'
import { waitingExecution, welcomeEmail } from '../executions/examples.ts'
import type { ExecutionList } from '../executions/schemas.ts'
import { exampleAddress, exampleIds, exampleTime } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'
import type {
  AutomationContact,
  AutomationContactList,
  AutomationContactListItem,
  ContactProperties,
  ContactPropertiesUpdated,
} from './schemas.ts'

const params = { email: exampleAddress }

const ada = {
  id: exampleIds.contact,
  email: exampleAddress,
  workspace_id: exampleIds.workspace,
  last_seen: exampleTime + 900,
  last_event: 'email.delivered',
  event_count: 3,
  first_seen: exampleTime,
  created_at: exampleTime,
  updated_at: exampleTime + 940,
} satisfies AutomationContactListItem

const ofWelcomeEmail = {
  email_id: welcomeEmail.email_id,
  subject: welcomeEmail.subject,
  workflow_id: welcomeEmail.workflow_id,
  execution_id: welcomeEmail.execution_id,
  node_id: 'welcome',
}

const sent = {
  ...signUpEvent,
  event_id: exampleIds.sentEvent,
  event_name: 'email.sent',
  timestamp: exampleTime + 120,
  properties: { ...ofWelcomeEmail, status: 'sent', recipient: exampleAddress },
  created_at: exampleTime + 120,
} satisfies AutomationEvent

const delivered = {
  ...signUpEvent,
  event_id: exampleIds.deliveredEvent,
  event_name: 'email.delivered',
  timestamp: exampleTime + 900,
  properties: { ...ofWelcomeEmail, status: 'delivered' },
  created_at: exampleTime + 940,
} satisfies AutomationEvent

export const contactExamples = {
  list: {
    answer: { contacts: [ada], count: 1, cursor: null } satisfies z.infer<
      typeof AutomationContactList
    >,
  },
  get: {
    params,
    answer: {
      ...ada,
      properties: { first_name: 'Ada', birthday: '12-10' },
    } satisfies AutomationContact,
  },
  change: {
    params,
    body: {
      properties: { address: { city: 'London', country: 'GB' }, birthday: null },
    } satisfies z.infer<typeof ContactProperties>,
    answer: {
      message: 'Contact properties updated',
      email: exampleAddress,
      updated_properties: ['address', 'birthday'],
    } satisfies z.infer<typeof ContactPropertiesUpdated>,
  },
  erase: { params },
  executions: {
    params,
    answer: {
      executions: [waitingExecution],
      count: 1,
      cursor: null,
    } satisfies z.infer<typeof ExecutionList>,
  },
  events: {
    params,
    answer: {
      events: [delivered, sent, signUpEvent],
      count: 3,
      cursor: null,
    } satisfies z.infer<typeof AutomationEventList>,
  },
} satisfies Record<string, OperationExample>
