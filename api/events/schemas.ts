// Automation events as the API takes and shows them.
import { z } from '@hono/zod-openapi'
import type { RecordedEvent } from '../../commands/events/record.ts'
import type { AutomationEventRow } from '../../db/events/reads.ts'
import { timeMax } from '../../rules/dates.ts'
import { isEventName } from '../../rules/eventNames.ts'
import { limits } from '../../rules/limits.ts'
import { contactEmailField, jsonObjectField, textField } from '../http/fields.ts'

export const NewAutomationEvent = z
  .object({
    event_name: z
      .string()
      .refine(isEventName, '1-128 letters, digits and . _ - : / are allowed')
      .openapi({ example: 'order.placed' }),
    email: contactEmailField,
    properties: jsonObjectField.optional(),
    contact_properties: jsonObjectField.optional().openapi({
      description: 'Merged into the contact as operation 17 does; null deletes a key',
    }),
    timestamp: z.int().min(0).max(timeMax).optional().openapi({
      description: 'ms; at most 24 h ahead; the time of arrival when it is left out',
    }),
    event_id: textField(limits.eventIdCharsMax).min(1).optional().openapi({
      description: 'Your own id: the same one is recorded once, for ever',
    }),
  })
  .openapi('NewAutomationEvent')
export type NewAutomationEvent = z.infer<typeof NewAutomationEvent>

const event = {
  event_id: z.string(),
  event_name: z.string(),
  email: z.string(),
  workspace_id: z.string(),
  timestamp: z.int(),
}

export const AcceptedAutomationEvent = z
  .object({
    ...event,
    created_at: z.int(),
    executions: z.array(z.string()).openapi({ description: 'Ids of executions that it started' }),
    deduplicated: z.boolean(),
  })
  .openapi('AcceptedAutomationEvent')
export type AcceptedAutomationEvent = z.infer<typeof AcceptedAutomationEvent>

export const AutomationEvent = z
  .object({ ...event, properties: z.record(z.string(), z.unknown()), created_at: z.int() })
  .openapi('AutomationEvent')
export type AutomationEvent = z.infer<typeof AutomationEvent>

export const AutomationEventList = z
  .object({ events: z.array(AutomationEvent), count: z.int(), cursor: z.string().nullable() })
  .openapi('AutomationEventList')

export const toAcceptedAutomationEvent = (
  workspaceId: string,
  recorded: RecordedEvent,
): AcceptedAutomationEvent => ({
  event_id: recorded.eventId,
  event_name: recorded.eventName,
  email: recorded.email,
  workspace_id: workspaceId,
  timestamp: recorded.at.getTime(),
  created_at: recorded.createdAt.getTime(),
  executions: recorded.executionIds,
  deduplicated: recorded.deduplicated,
})

export const toAutomationEvent = (row: AutomationEventRow): AutomationEvent => ({
  event_id: row.event_id,
  event_name: row.event_name,
  email: row.email,
  workspace_id: row.workspace_id,
  timestamp: row.at.getTime(),
  properties: row.properties,
  created_at: row.created_at.getTime(),
})
