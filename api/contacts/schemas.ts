// Schemas of automation contacts.
import { z } from '@hono/zod-openapi'
import type { ContactListRow, ContactRow } from '../../db/contacts/reads.ts'
import { jsonObjectField, pageFields } from '../http/fields.ts'

export const AutomationContactListItem = z
  .object({
    id: z.string(),
    email: z.string().openapi({ description: 'The address, in lower case' }),
    workspace_id: z.string(),
    last_seen: z.int().openapi({ description: 'The `timestamp` of the latest event' }),
    last_event: z.string().openapi({
      description: 'The name of the latest event, mail events as `email.opened` among them',
    }),
    event_count: z.int().openapi({ description: 'Mail events are counted too' }),
    first_seen: z.int().openapi({ description: 'The `timestamp` of the earliest event' }),
    created_at: z.int().openapi({ description: 'When the contact was made' }),
    updated_at: z.int().openapi({
      description: 'When the contact had an event, or changed, last',
    }),
  })
  .openapi('AutomationContactListItem')
export type AutomationContactListItem = z.infer<typeof AutomationContactListItem>

export const AutomationContact = AutomationContactListItem.extend({
  properties: z.record(z.string(), z.unknown()).openapi({
    description: 'Free-form. Conditions and templates read it as `properties.*`',
  }),
}).openapi('AutomationContact')
export type AutomationContact = z.infer<typeof AutomationContact>

export const AutomationContactList = z
  .object({
    contacts: z.array(AutomationContactListItem),
    ...pageFields,
  })
  .openapi('AutomationContactList')

/**
 * Only for the interface description: parseBody.ts checks the body by hand, because the contract fixes its error
 * texts.
 */
export const ContactProperties = z
  .object({
    properties: jsonObjectField.openapi({
      description:
        'At least one key. null deletes a key, at any depth; an array replaces the stored one',
    }),
  })
  .openapi('ContactProperties')

export const ContactPropertiesUpdated = z
  .object({
    message: z.string(),
    email: z.string(),
    updated_properties: z
      .array(z.string())
      .openapi({ description: 'The top-level keys of the request, in its order' }),
  })
  .openapi('ContactPropertiesUpdated')

export const toAutomationContactListItem = (row: ContactListRow): AutomationContactListItem => ({
  id: row.id,
  email: row.email,
  workspace_id: row.workspace_id,
  last_seen: row.last_seen.getTime(),
  last_event: row.last_event,
  event_count: row.event_count,
  first_seen: row.first_seen.getTime(),
  created_at: row.created_at.getTime(),
  updated_at: row.updated_at.getTime(),
})

export const toAutomationContact = (row: ContactRow): AutomationContact => ({
  ...toAutomationContactListItem(row),
  properties: row.properties,
})
