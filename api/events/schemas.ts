// Schemas of automation events.
import { z } from '@hono/zod-openapi'
import type { RecordedEvent } from '../../commands/events/record.ts'
import type { AutomationEventRow } from '../../db/events/reads.ts'
import { timeMax } from '../../rules/dates.ts'
import { eventNameForm, isEventName } from '../../rules/eventNames.ts'
import { limits } from '../../rules/limits.ts'
import { itemErrors } from '../http/batchErrors.ts'
import { contactEmailField, jsonObjectField, pageFields, textField } from '../http/fields.ts'

const HOUR_MS = 3_600_000

export const NewAutomationEvent = z
  .object({
    event_name: z
      .string()
      .refine(isEventName, `must be ${eventNameForm}`)
      .openapi({
        description: `${eventNameForm}. Triggers and waits ask for this name`,
        example: 'order.placed',
      }),
    email: contactEmailField.openapi({
      description: 'Whose event it is. Contacts are told apart by their address, in lower case',
    }),
    properties: jsonObjectField.optional().openapi({
      description: 'What happened, in your own words. Workflows read it as `event.*`',
    }),
    contact_properties: jsonObjectField.optional().openapi({
      description:
        'Merged into the properties of the contact, before workflows look at the event: objects at every depth, ' +
        'null deletes a key',
    }),
    timestamp: z
      .int()
      .min(0)
      .max(timeMax)
      .optional()
      .openapi({
        description: `When it happened, at most ${limits.eventAheadMsMax / HOUR_MS} h ahead. The time of arrival when it is left out`,
      }),
    historical: z
      .boolean()
      .optional()
      .openapi({
        description:
          'True for what happened in the past: it is recorded and counted, and starts and wakes nothing. That also holds for ' +
          `an event whose \`timestamp\` is more than ${limits.eventBehindMsMax / HOUR_MS} h ago`,
      }),
    event_id: textField(limits.eventIdCharsMax).min(1).optional().openapi({
      description:
        'Your own id for it. An event with an id that was recorded before changes nothing',
    }),
  })
  .openapi('NewAutomationEvent')
export type NewAutomationEvent = z.infer<typeof NewAutomationEvent>

const event = {
  event_id: z.string().openapi({ description: 'Yours, or one of ours where you gave none' }),
  event_name: z.string(),
  email: z.string().openapi({ description: "The contact's address, in lower case" }),
  workspace_id: z.string(),
  timestamp: z.int().openapi({ description: 'When it happened' }),
}

const recorded = z.int().openapi({ description: 'When it was recorded' })

export const AcceptedAutomationEvent = z
  .object({
    ...event,
    created_at: recorded,
    executions: z.array(z.string()).openapi({
      description:
        'The ids of the executions that it started; those that it woke are not among them',
    }),
    deduplicated: z.boolean().openapi({
      description:
        'True when its `event_id` was recorded before: the answer is that of the first time',
    }),
  })
  .openapi('AcceptedAutomationEvent')
export type AcceptedAutomationEvent = z.infer<typeof AcceptedAutomationEvent>

export const AutomationEventBatch = z
  .object({
    events: z
      .array(z.unknown().openapi({ type: 'object', description: 'A `NewAutomationEvent`' }))
      .min(1)
      .max(limits.eventsBatchMax)
      .openapi({
        description: `1-${limits.eventsBatchMax}, recorded in this order for each contact`,
      }),
  })
  .openapi('AutomationEventBatch')

export const AutomationEventBatchResult = z
  .object({
    events: z
      .array(AcceptedAutomationEvent)
      .openapi({ description: 'Those that were taken, in the order of the request' }),
    errors: itemErrors(['invalid_request', 'reserved_event_name', 'event_id_reused']),
  })
  .openapi('AutomationEventBatchResult')

export const AutomationEvent = z
  .object({ ...event, properties: z.record(z.string(), z.unknown()), created_at: recorded })
  .openapi('AutomationEvent')
export type AutomationEvent = z.infer<typeof AutomationEvent>

export const AutomationEventList = z
  .object({ events: z.array(AutomationEvent), ...pageFields })
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
