// Bounds how much lists hold that a template makes. A list that holds another one twice, and so on, is small in memory and
// endless as text, and it becomes text in one call of the engine that nothing can stop.
import { type Context, filters, toValue } from 'liquidjs'
import { limits } from '../../rules/limits.ts'

/** What each value counts beside its characters: it takes some 200 ns to become text. */
const VALUE_SIZE = 50

/** What a value holds: characters and values, each as often as it would stand in the text. Depth 0: no list or object. */
interface Extent {
  size: number
  depth: number
}

interface FilterRun {
  context: Context
}
type FilterHandler = (this: FilterRun, value: unknown, ...args: unknown[]) => unknown

/** Lists and objects never change once they are made. */
const known = new WeakMap<object, Extent>()

/** The filters of the engine that put values into new lists, with a charge for what these values hold. */
export function growingFilters(): [name: string, handler: FilterHandler][] {
  return [
    ['concat', charging(filters['concat'] as FilterHandler, ofList)],
    ['push', charging(filters['push'] as FilterHandler, ofElement)],
    ['unshift', charging(filters['unshift'] as FilterHandler, ofElement)],
    ['map', measuring(filters['map'] as FilterHandler)],
    ['group_by', measuring(filters['group_by'] as FilterHandler)],
    ['group_by_exp', measuring(filters['group_by_exp'] as FilterHandler)],
  ]
}

/** For a filter that adds its argument to a list, which can make the list hold twice as much. */
function charging(make: FilterHandler, extentOf: (added: unknown) => Extent): FilterHandler {
  return function (value, added) {
    const [before, more] = [ofList(value), extentOf(added)]
    this.context.memoryLimit.use(more.size)
    const made = make.call(this, value, added) as object
    // Known from the two, so that a list which grows one by one is not looked through each time.
    known.set(
      made,
      checked({ size: before.size + more.size, depth: Math.max(before.depth, more.depth) }),
    )
    return made
  }
}

/** For a filter that puts what it is given into further lists, each value once. */
function measuring(make: FilterHandler): FilterHandler {
  return function* (value, ...args) {
    const made: unknown = yield make.call(this, value, ...args)
    checked(extentOf(made))
    return made
  }
}

/** @throws Error when a value is nested too deep for code that follows it */
function checked(extent: Extent): Extent {
  if (extent.depth > limits.templateValueDepthMax) {
    throw new Error(`lists and objects over ${limits.templateValueDepthMax} deep`)
  }
  return extent
}

/** A value as the list that the engine takes it for. */
function ofList(given: unknown): Extent {
  const value: unknown = toValue(given)
  if (value === undefined || value === null) return { size: VALUE_SIZE, depth: 1 }
  return Array.isArray(value) ? extentOf(value) : ofElement(value)
}

/** A list with this element alone. */
function ofElement(value: unknown): Extent {
  const { size, depth } = extentOf(value)
  return { size: VALUE_SIZE + size, depth: depth + 1 }
}

function extentOf(value: unknown): Extent {
  if (typeof value === 'string') return { size: VALUE_SIZE + value.length, depth: 0 }
  if (typeof value !== 'object' || value === null) return { size: VALUE_SIZE, depth: 0 }
  const measured = known.get(value)
  if (measured) return measured
  const extent = { size: VALUE_SIZE, depth: 0 }
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    const { size, depth } = extentOf(inner)
    extent.size += size
    extent.depth = Math.max(extent.depth, depth)
  }
  extent.depth += 1
  known.set(value, extent)
  return extent
}
