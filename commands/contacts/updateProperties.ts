// Merges properties into an automation contact.

import { lockContactByEmail } from '../../db/contacts/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { findJsonFault } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { mergeProperties } from '../../rules/properties/merge.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { recordContactChange } from '../events/record.ts'
import { transact } from '../transact.ts'

export interface ContactPatch {
  /** In lower case. */
  email: string
  /** Deep-merged; null deletes a key. */
  properties: JsonObject
}

/**
 * Merges properties under the contact's lock, and starts and ends what the change does. Refuses `contact_properties_refused` if the merged properties exceed
 * the limits.
 */
export function updateContactProperties(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>,
  workspaceId: WorkspaceId,
  { email, properties }: ContactPatch,
): Promise<undefined | Refusal<'contact_not_found' | 'contact_properties_refused'>> {
  return transact(deps, async (inTrx) => {
    const { db: trx } = inTrx
    const contact = await lockContactByEmail(trx, workspaceId, email)
    if (!contact) return refuse('contact_not_found', {})
    const merged = mergeProperties(contact.properties, properties)
    const fault = findJsonFault(merged, limits.propertiesBytesMax)
    if (fault) {
      const facts = { field: 'properties', text: fault.message } as const
      return refuse('contact_properties_refused', facts)
    }
    await recordContactChange(inTrx, workspaceId, {
      contactId: contact.id,
      email,
      firstSeen: contact.first_seen,
      before: contact.properties,
      after: merged,
      depth: 0,
    })
    return undefined
  })
}
