// Fields that are left blank: a form writes null or '' where nothing was entered, and validation counts both as absent.

import type { Json, JsonObject } from '../json.ts'
import { isGiven } from './fieldChecks.ts'

/** Fields that hold fields of ours. What is inside any other belongs to the customer, and may be null or ''. */
const groups: ReadonlySet<string> = new Set(['re_entry', 'utm', 'frequency_cap'])

/**
 * The same data without its blank fields; the given object where it has none.
 * @param compared fields in which null and '' are values, since they are compared with something
 */
export function withoutBlanks<Data extends object>(
  data: Data,
  compared: readonly string[] = [],
): Data {
  const fields = Object.entries(data as JsonObject)
  const kept = fields.flatMap(([key, value]): [string, Json][] => {
    if (!isGiven(value) && !compared.includes(key)) return []
    return [[key, isGroup(key, value) ? withoutBlanks(value) : value]]
  })
  const isSame =
    kept.length === fields.length && kept.every(([, value], i) => value === fields[i]?.[1])
  return isSame ? data : (Object.fromEntries(kept) as Data)
}

const isGroup = (key: string, value: Json): value is JsonObject =>
  groups.has(key) && typeof value === 'object' && value !== null && !Array.isArray(value)
