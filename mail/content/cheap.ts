// Decides which templates may be rendered in place: those without loops whose work is bounded by what was parsed and by
// the size of the values. All others are rendered by the pool.
import {
  IfTag,
  Output,
  type Template,
  type Token,
  TypeGuards,
  UnlessTag,
  type Value,
} from 'liquidjs'
import { cheapFilters, ESCAPE, type FilterCost, type Size } from './cheapFilters.ts'
import { isLiteral } from './outputs.ts'

/**
 * The most that a render can take, in ns of a slow machine, for values of `size` in all:
 * `fixed + perChar * size + perSquare * size * size`.
 */
export interface Cost {
  fixed: number
  perChar: number
  perSquare: number
}

/** What may be rendered in place: 20 ms at worst. */
const PLACE_NS_MAX = 20_000_000
const FILTERS_MAX = 10
const OUTPUT_NS = 5_000
const OPERAND_NS = 1_000
const FILTER_NS = 2_000
/** Comparing arrays, the slowest that a comparison can be. */
const COMPARE_NS_PER_CHAR = 100
/** A search for a periodic text in another one looks at each pair of characters. */
const SEARCH_NS_PER_SQUARE = 0.25

/** Tags that write nothing or what stands in the template. */
const quiet = new Set(['comment', 'raw', '#'])

/** What templates cost at most; null when nothing says how much that is, as for a loop. */
export function costOf(templates: readonly Template[]): Cost | null {
  const cost = { fixed: 0, perChar: 0, perSquare: 0 }
  return addTemplates(cost, templates) ? cost : null
}

/** The most that the values in scope may have together for renders of these costs in place; below 0: none may. */
export function sizeMaxOf(costs: readonly Cost[]): number {
  const sum = (key: keyof Cost) => costs.reduce((total, cost) => total + cost[key], 0)
  const left = PLACE_NS_MAX - sum('fixed')
  if (left < 0) return -1
  const [perChar, perSquare] = [sum('perChar') + 1, sum('perSquare')]
  if (perSquare === 0) return left / perChar
  return (Math.sqrt(perChar * perChar + 4 * perSquare * left) - perChar) / (2 * perSquare)
}

function addTemplates(cost: Cost, templates: readonly Template[]): boolean {
  return templates.every((template) => {
    const { token } = template
    cost.fixed += OPERAND_NS + token.size()
    if (TypeGuards.isHTMLToken(token)) return true
    if (template instanceof Output) {
      cost.fixed += OUTPUT_NS
      const size = addValue(cost, template.value)
      if (size) add(cost, size, 10)
      return size !== null
    }
    if (template instanceof IfTag || template instanceof UnlessTag) {
      const { branches, elseTemplates = [] } = template
      return (
        branches.every(
          ({ value, templates }) => addValue(cost, value) && addTemplates(cost, templates),
        ) && addTemplates(cost, elseTemplates)
      )
    }
    return TypeGuards.isTagToken(token) && quiet.has(token.name)
  })
}

/** Adds work of so many ns for each character of a value. */
function add(cost: Cost, size: Size, perChar: number): void {
  cost.perChar += perChar * size.times
  cost.fixed += perChar * size.plus
}

/** Adds the work of an expression with its filters. @returns the size of its value; null: unbounded */
function addValue(cost: Cost, { initial, filters }: Value): Size | null {
  let size: Size | null = { times: 1, plus: 0 }
  for (const token of initial.postfix) {
    if (TypeGuards.isOperatorToken(token)) addOperator(cost, token.getText(), size)
    else {
      const operand = addOperand(cost, token)
      if (!operand) return null
      size = { times: 1, plus: Math.max(size.plus, operand.plus) }
    }
  }
  if (filters.length > FILTERS_MAX) return null
  for (const { name, args } of filters) {
    const filter = name === ESCAPE ? cheapFilters['escape'] : own(name)
    if (!filter) return null
    const sizes = args.map((arg) => addOperand(cost, Array.isArray(arg) ? arg[1] : arg))
    cost.fixed += FILTER_NS
    const after: Size | null = filter.after(size, sizes.filter(isSize), args)
    if (!after || !sizes.every(isSize)) return null
    for (const one of [size, ...sizes.filter(isSize)]) add(cost, one, filter.ns)
    add(cost, after, filter.ns)
    cost.fixed += filter.fixed_ns?.(args) ?? 0
    size = after
  }
  return size
}

function own(name: string): FilterCost | undefined {
  return Object.hasOwn(cheapFilters, name) ? cheapFilters[name] : undefined
}

const isSize = (size: Size | null): size is Size => size !== null

function addOperator(cost: Cost, operator: string, size: Size): void {
  cost.fixed += OPERAND_NS
  add(cost, { times: 1, plus: size.plus }, COMPARE_NS_PER_CHAR)
  if (operator !== 'contains') return
  cost.perSquare += SEARCH_NS_PER_SQUARE
  cost.perChar += 2 * SEARCH_NS_PER_SQUARE * size.plus
  cost.fixed += SEARCH_NS_PER_SQUARE * size.plus * size.plus
}

/** A literal, or a value by a path of names and numbers that the template holds. */
function addOperand(cost: Cost, token: Token | undefined): Size | null {
  if (!token) return null
  cost.fixed += OPERAND_NS + 10 * token.size()
  const plus = token.size()
  if (isLiteral(token)) return { times: 0, plus }
  if (!TypeGuards.isPropertyAccessToken(token)) return null
  const { variable, props } = token
  if (variable && !isLiteral(variable)) return null
  cost.fixed += OPERAND_NS * props.length
  // `size` of an object counts its keys.
  cost.perChar += 10
  return props.every((prop) => isLiteral(prop) || TypeGuards.isWordToken(prop))
    ? { times: 1, plus }
    : null
}

/** Characters of all values, where each value counts at least as much as it takes as text; at most about `max`. */
export function sizeOfValues(value: unknown, max: number): number {
  let size = 0
  const open: unknown[] = [value]
  while (open.length > 0 && size <= max) {
    const next = open.pop()
    size += 24
    if (typeof next === 'string') size += next.length
    else if (typeof next === 'object' && next !== null) {
      for (const key in next) {
        size += key.length
        open.push((next as Record<string, unknown>)[key])
        if (size + open.length > max) return size + open.length
      }
    }
  }
  return size
}
