// The `contact` of a template, for an email to a single address.

import type { Db } from '../../db/connect.ts'
import { findContactProperties } from '../../db/contacts/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'

/**
 * email, first_name, last_name, properties. Without an automation contact the names are null and properties is
 * empty.
 */
export type TemplateContact = { email: string; properties: JsonObject } & JsonObject

/** @param email in lower case */
export function toTemplateContact(email: string, properties: JsonObject): TemplateContact {
  return {
    email,
    first_name: properties['first_name'] ?? null,
    last_name: properties['last_name'] ?? null,
    properties,
  }
}

/** Finds the `contact` of an address. */
export async function findTemplateContact(
  db: Db,
  workspaceId: WorkspaceId,
  address: string,
): Promise<TemplateContact> {
  const email = address.toLowerCase()
  return toTemplateContact(email, (await findContactProperties(db, workspaceId, email)) ?? {})
}
