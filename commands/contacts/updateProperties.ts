// Operation 17: merges properties into a contact. Its checks come in the contract's order, with its texts.

import type { ApiDeps } from '../../api/http/env.ts'
import { badRequest, invalidJson, notFound } from '../../api/http/errors.ts'
import {
  lockContactByEmail,
  updateContactProperties as writeProperties,
} from '../../db/contacts/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import { findJsonFault } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { mergeProperties } from '../../rules/properties/merge.ts'

/** Reads the body. @throws ApiError 400 */
export function readProperties(text: string): JsonObject {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw invalidJson(null)
  }
  const properties = isJsonObject(body) ? body['properties'] : undefined
  if (!isJsonObject(properties)) throw badRequest('properties must be an object', null)
  if (Object.keys(properties).length === 0) throw badRequest('properties cannot be empty', null)
  const fault = findJsonFault(properties, limits.propertiesBytesMax)
  if (fault) throw badRequest(`properties: ${fault.message}`)
  return properties
}

/** @param email in lower case. @throws ApiError 404, or 400 when the contact's properties would grow too large */
export function updateContactProperties(
  { db, now }: Pick<ApiDeps, 'db' | 'now'>,
  workspaceId: WorkspaceId,
  email: string,
  patch: JsonObject,
): Promise<void> {
  return db.transaction().execute(async (trx) => {
    const contact = await lockContactByEmail(trx, workspaceId, email)
    if (!contact) {
      throw notFound('Contact not found. Send an event first to create the contact.', null)
    }
    const merged = mergeProperties(contact.properties, patch)
    const fault = findJsonFault(merged, limits.propertiesBytesMax)
    if (fault) throw badRequest(`properties: with these, ${fault.message}`)
    await writeProperties(trx, contact.id, merged, now())
  })
}
