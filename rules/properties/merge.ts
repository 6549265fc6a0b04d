// Deep merge of contact properties, in which null deletes: for every write of properties.
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { jsonEquals, own, setOwn } from '../paths.ts'

/**
 * `stored` with `patch` merged in: absent keys stay, null deletes at any depth, objects merge,
 * arrays and other values replace. Deleting the last nested key leaves `{}`; `{}` on an absent key sets `{}`;
 * nulls inside arrays stay. Neither argument is changed; `stored` itself is returned if nothing changed. Keys like
 * `__proto__` are ordinary keys. The function recurses, so callers first check its input with `findJsonFault`.
 */
export function mergeProperties(stored: JsonObject, patch: JsonObject): JsonObject {
  let merged: JsonObject | null = null
  for (const key of Object.keys(patch)) {
    const before = own(stored, key)
    const after = mergeValue(before, own(patch, key) ?? null)
    if (after === before) continue
    // Spread defines keys instead of assigning them, so it copies an own `__proto__` as an ordinary key.
    merged ??= { ...stored }
    if (after === undefined) delete merged[key]
    else setOwn(merged, key, after)
  }
  return merged ?? stored
}

/** The new value in place of `before`; undefined if the key is deleted. */
function mergeValue(before: Json | undefined, patch: Json): Json | undefined {
  if (patch === null) return undefined
  if (isJsonObject(patch)) return mergeProperties(isJsonObject(before) ? before : {}, patch)
  return before !== undefined && jsonEquals(before, patch) ? before : patch
}
