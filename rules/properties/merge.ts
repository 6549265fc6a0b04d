// Deep merge of contact properties with deletion by null: operation 17, and every other write of properties.
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { jsonEquals, own, setOwn } from '../paths.ts'

/**
 * `stored` with `patch` merged in (spec operation 17): absent keys stay, null deletes at any depth, objects merge,
 * arrays and other values replace. Deleting the last nested key leaves `{}`; `{}` on an absent key sets `{}`; nulls
 * inside arrays stay. Neither argument is changed; `stored` itself comes back when nothing changed.
 * `__proto__` and its like are plain keys. Callers refuse what `findJsonFault` finds first: this recurses.
 */
export function mergeProperties(stored: JsonObject, patch: JsonObject): JsonObject {
  let merged: JsonObject | null = null
  for (const key of Object.keys(patch)) {
    const before = own(stored, key)
    const after = mergeValue(before, own(patch, key) ?? null)
    if (after === before) continue
    // Spread defines keys and never assigns, so it copies an own `__proto__` as the plain key that it is.
    merged ??= { ...stored }
    if (after === undefined) delete merged[key]
    else setOwn(merged, key, after)
  }
  return merged ?? stored
}

/** The value that is stored in place of `before`; undefined when the key goes. */
function mergeValue(before: Json | undefined, patch: Json): Json | undefined {
  if (patch === null) return undefined
  if (isJsonObject(patch)) return mergeProperties(isJsonObject(before) ? before : {}, patch)
  return before !== undefined && jsonEquals(before, patch) ? before : patch
}
