// Automation contacts as the API takes and shows them.
import { z } from '@hono/zod-openapi'
import type { ContactListRow, ContactRow } from '../../db/contacts/reads.ts'
import { jsonObjectField } from '../http/fields.ts'

export const AutomationContactListItem = z
  .object({
    id: z.string(),
    email: z.string(),
    workspace_id: z.string(),
    last_seen: z.int(),
    last_event: z.string().openapi({ description: 'The name of the most recent event' }),
    event_count: z.int(),
    first_seen: z.int(),
    created_at: z.int(),
    updated_at: z.int(),
  })
  .openapi('AutomationContactListItem')
export type AutomationContactListItem = z.infer<typeof AutomationContactListItem>

export const AutomationContact = AutomationContactListItem.extend({
  properties: z.record(z.string(), z.unknown()),
}).openapi('AutomationContact')
export type AutomationContact = z.infer<typeof AutomationContact>

export const AutomationContactList = z
  .object({
    contacts: z.array(AutomationContactListItem),
    count: z.int(),
    cursor: z.string().nullable(),
  })
  .openapi('AutomationContactList')

/** For the OpenAPI document: operation 17 checks its body itself, since its error texts are the contract's. */
export const ContactProperties = z
  .object({ properties: jsonObjectField })
  .openapi('ContactProperties')

export const ContactPropertiesUpdated = z
  .object({ message: z.string(), email: z.string(), updated_properties: z.array(z.string()) })
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
