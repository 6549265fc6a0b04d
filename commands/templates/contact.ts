// The contact that a template knows as `contact` when mail is written for one address.

import type { Db } from '../../db/connect.ts'
import { findContactProperties } from '../../db/contacts/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'

/** email, first_name, last_name, properties; all but the address null or empty for who is no automation contact. */
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

/** The contact of an address, looked up. */
export async function findTemplateContact(
  db: Db,
  workspaceId: WorkspaceId,
  address: string,
): Promise<TemplateContact> {
  const email = address.toLowerCase()
  return toTemplateContact(email, (await findContactProperties(db, workspaceId, email)) ?? {})
}
