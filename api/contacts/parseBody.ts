// Checks the body of a change of properties by hand: the contract fixes the order and the texts of its checks.
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import { findJsonFault } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { badRequest, invalidJson } from '../http/errors.ts'

/**
 * Reads the properties to merge. @throws ApiError 400 with the contract's text, or another one if the contract has
 * none
 */
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
  if (fault) throw badRequest(`properties ${fault.message}`)
  return properties
}
