// Lists by which a node names its ways out: the branches of `branch`, the variants of `split`. Each item's id is a handle.
import { type CheckAt, problemAt } from '../design/context.ts'
import type { Problem } from '../design/problem.ts'
import { idFault, isGraphId } from '../design/shape.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { shown, typeName } from '../shown.ts'

export interface WayList {
  /** The key of the data that holds the list: `branches`. */
  key: string
  /** One item, for messages: `branch`. */
  item: string
  /** What an item is, for messages: `id and condition`. */
  parts: string
  itemsMax: number
  /** An id that no item may have, since it is another handle of the node, and why. */
  reserved?: { id: string; why: string }
  /** Problems of an item beside those of its id. @param key `branches.0` */
  checkItem(at: CheckAt, item: JsonObject, key: string): Problem[]
}

/** The items as they are written; none where the data holds no list. */
export function waysOf({ key }: Pick<WayList, 'key'>, data: JsonObject): Json[] {
  const list = data[key]
  return Array.isArray(list) ? list : []
}

/** The handles that the items name, each once. Total: takes any data. */
export function wayHandles(list: Pick<WayList, 'key' | 'reserved'>, data: JsonObject): string[] {
  const ids = waysOf(list, data).map((item) => (isJsonObject(item) ? item['id'] : null))
  const texts = new Set(ids.filter((id) => typeof id === 'string'))
  return [...texts].filter((id) => id !== list.reserved?.id)
}

/** Every problem of a list: none or too many items, and those of each item. */
export function checkWays(at: CheckAt, list: WayList): Problem[] {
  const { key, item, itemsMax, reserved } = list
  const items = waysOf(list, at.data)
  if (items.length === 0) {
    const given = at.data[key]
    const came = Array.isArray(given) ? 'an empty array' : typeName(given)
    const message = `${key} must be an array of at least one ${item}, not ${came}`
    return problemAt(at, key, 'missing_value', message)
  }
  if (items.length > itemsMax) {
    const message = `${key} must not exceed ${itemsMax} ${key}, has ${items.length}`
    return problemAt(at, key, 'too_many', message)
  }
  const seen = new Set<string>(reserved ? [reserved.id] : [])
  return items.flatMap((one, i) => checkWay(at, list, one, { key: `${key}.${i}`, seen }))
}

function checkWay(
  at: CheckAt,
  { item, parts, reserved, checkItem }: WayList,
  given: Json,
  { key, seen }: { key: string; seen: Set<string> },
): Problem[] {
  if (!isJsonObject(given)) {
    const message = `a ${item} must be an object with ${parts}, not ${typeName(given)}`
    return problemAt(at, key, 'bad_value', message)
  }
  const problems = checkItem(at, given, key)
  const { id } = given
  if (!isGraphId(id)) return [...problems, ...problemAt(at, `${key}.id`, 'bad_id', idFault(id))]
  if (seen.has(id)) {
    const why = id === reserved?.id ? reserved.why : `is that of another ${item}`
    problems.push(...problemAt(at, `${key}.id`, 'duplicate_id', `id: ${shown(id)} ${why}`))
  }
  seen.add(id)
  return problems
}
