// What a change makes of a contact of an audience.

import type { AudienceContactFields } from '../../db/audiences/contactReads.ts'
import type { ChangedAudienceContact } from '../../db/audiences/contactWrites.ts'
import type { JsonObject } from '../../rules/json.ts'
import { findJsonFault } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { mergeProperties } from '../../rules/properties/merge.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'

/** The fields of an audience contact that can change; undefined leaves a field as it is. */
export interface AudienceContactChange {
  first_name?: string | null | undefined
  last_name?: string | null | undefined
  is_subscribed?: boolean | undefined
  /** Merged into the stored ones; null deletes a key. */
  properties?: JsonObject | undefined
}

/** A contact with the properties that were read; null: they were not, since no change gives any. */
export type ReadAudienceContact = AudienceContactFields & { properties: JsonObject | null }

/** The contact with the fields of the change; other fields stay. Refuses properties that exceed the limits once they are merged. */
export function changed(
  contact: ReadAudienceContact,
  change: AudienceContactChange,
  at: Date,
): ReadAudienceContact | Refusal<'contact_properties_refused'> {
  const { properties: before } = contact
  const properties = change.properties ? mergeProperties(before ?? {}, change.properties) : before
  const fault = properties === before ? null : findJsonFault(properties, limits.propertiesBytesMax)
  if (fault) {
    const facts = { field: 'properties', text: fault.message } as const
    return refuse('contact_properties_refused', facts)
  }
  return {
    ...contact,
    first_name: change.first_name === undefined ? contact.first_name : change.first_name,
    last_name: change.last_name === undefined ? contact.last_name : change.last_name,
    is_subscribed: change.is_subscribed ?? contact.is_subscribed,
    // Whoever changes it writes the opt-out in the same commit. Otherwise one of the release before may yet be copied.
    leave_copied: copiedAfter(contact, change),
    properties,
    updated_at: at,
  }
}

function copiedAfter(
  contact: AudienceContactFields,
  { is_subscribed }: AudienceContactChange,
): boolean | null {
  if (is_subscribed === undefined) return contact.is_subscribed ? null : contact.leave_copied
  return is_subscribed ? null : true
}

/** What is to be written. */
export const toChanged = (
  before: ReadAudienceContact,
  after: ReadAudienceContact,
): ChangedAudienceContact => ({
  ...after,
  properties: after.properties === before.properties ? null : after.properties,
})
