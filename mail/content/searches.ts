// Bounds searches of one text in another: for periodic texts such a search looks at each pair of their characters, in one
// call that nothing can stop.
import { type Context, defaultOperators, filters, toValue } from 'liquidjs'
import { limits } from '../../rules/limits.ts'

/** Filters whose first argument is searched in their value. */
const searching = [
  'split',
  'replace',
  'replace_first',
  'replace_last',
  'remove',
  'remove_first',
  'remove_last',
] as const

type BinaryOperator = (left: unknown, right: unknown, context: Context) => boolean
type FilterHandler = (this: object, value: unknown, ...args: unknown[]) => unknown

/** @throws Error when a search for `sought` in `text` may take too long */
function checkSearch(text: string, sought: string): void {
  if (text.length * sought.length > limits.templateSearchMax) {
    throw new Error(`a search in ${text.length} characters for ${sought.length} characters`)
  }
}

const containsValue = defaultOperators['contains'] as BinaryOperator

/** The operators of the engine; `contains` checks what it searches in a text. */
export const operators: typeof defaultOperators = {
  ...defaultOperators,
  contains(left: unknown, right: unknown, context: Context) {
    const within: unknown = toValue(left)
    if (typeof within === 'string') checkSearch(within, String(toValue(right)))
    return containsValue(left, right, context)
  },
}

/** The filters of the engine that search, with a check before each. */
export function searchFilters(): [name: string, handler: FilterHandler][] {
  return searching.map((name) => [name, checked(filters[name] as FilterHandler)])
}

function checked(search: FilterHandler): FilterHandler {
  return function (value: unknown, sought: unknown, ...others: unknown[]) {
    const [text, pattern] = [textOf(value), textOf(sought)]
    checkSearch(text, pattern)
    return search.call(this, text, pattern, ...others)
  }
}

/** A value as the engine makes a text of it. */
export function textOf(given: unknown): string {
  const value: unknown = toValue(given)
  if (value === undefined || value === null) return ''
  return Array.isArray(value) ? value.map(textOf).join('') : String(value)
}
