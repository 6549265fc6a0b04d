// One row for each operator: what it says of a value, of a missing one, and which values it may be given.

import { parseTime } from '../dates.ts'
import { parseDuration, subtractDuration } from '../duration.ts'
import { isJsonObject, type Json } from '../json.ts'
import { jsonEquals } from '../paths.ts'
import { holdsText } from '../search.ts'
import type { Operator } from './types.ts'

/** What each operator says of a field, for readers of the docs; `value` is what the design writes beside it. */
export const operatorTexts: Record<Operator, string> = {
  eq: 'It equals `value`. Types must agree: the number 1 is not the text `"1"`',
  neq: 'It does not equal `value`',
  gt: 'It is greater: two numbers, or two texts in the order of their characters',
  gte: 'It is greater or equal',
  lt: 'It is less',
  lte: 'It is less or equal',
  contains: 'A text that holds `value`, or a list with `value` as an element',
  not_contains: 'It does not contain `value`',
  starts_with: 'A text that begins with `value`',
  ends_with: 'A text that ends with `value`',
  in: 'It equals one of the values of the list',
  not_in: 'It equals none of the values of the list',
  exists: 'It is there, `null` included',
  not_exists: 'It is not there',
  is_empty: 'It is `null`, `""`, `[]` or `{}`, or not there. `0` and `false` are not empty',
  is_not_empty: 'It is there and not empty',
  is_true: 'It is `true`; no other value is',
  is_false: 'It is `false`; no other value is',
  before: 'A time before `value`',
  after: 'A time after `value`',
  within_last: 'A time not in the future and at most `value` ago',
  older_than: 'A time more than `value` ago',
}

/** What the design may write as `value` beside an operator. */
export type ValueKind =
  | 'none'
  | 'scalar'
  | 'element'
  | 'ordered'
  | 'text'
  | 'list'
  | 'time'
  | 'span'

interface Given {
  value: Json | undefined
  ci: boolean
  /** ms */
  now: number
}

interface OperatorRow {
  value: ValueKind
  /** The answer where the field is missing. */
  missing: boolean
  test(field: Json, given: Given): boolean
}

const fold = (value: Json | undefined, ci: boolean): Json | undefined =>
  ci && typeof value === 'string' ? value.toLowerCase() : value

function equals(field: Json, value: Json | undefined, ci: boolean): boolean {
  const wanted = fold(value, ci)
  return wanted !== undefined && jsonEquals(fold(field, ci) ?? null, wanted)
}

function contains(field: Json, { value, ci }: Given): boolean {
  if (Array.isArray(field)) return field.some((item) => equals(item, value, ci))
  return onText(field, value, ci, holdsText)
}

function onText(
  field: Json,
  value: Json | undefined,
  ci: boolean,
  test: (text: string, part: string) => boolean,
): boolean {
  const [text, part] = [fold(field, ci), fold(value, ci)]
  return typeof text === 'string' && typeof part === 'string' && test(text, part)
}

/** Orders two numbers, or two texts by their UTF-16 units; null for anything else, a number and a text included. */
function compare(field: Json, value: Json | undefined): number | null {
  if (typeof field === 'number' && typeof value === 'number') return field - value
  if (typeof field !== 'string' || typeof value !== 'string') return null
  return field < value ? -1 : field > value ? 1 : 0
}

function ordered(test: (order: number) => boolean): OperatorRow {
  return {
    value: 'ordered',
    missing: false,
    test: (field, given) => {
      const order = compare(field, given.value)
      return order !== null && test(order)
    },
  }
}

function timed(test: (field_ms: number, value_ms: number) => boolean): OperatorRow {
  return {
    value: 'time',
    missing: false,
    test: (field, given) => {
      const [at, value] = [parseTime(field), parseTime(given.value)]
      return at !== null && value !== null && test(at, value)
    },
  }
}

function ago(test: (at: number, since: number, now: number) => boolean): OperatorRow {
  return {
    value: 'span',
    missing: false,
    test: (field, { value, now }) => {
      const [at, since] = [parseTime(field), spanStart(value, now)]
      return at !== null && since !== null && test(at, since, now)
    },
  }
}

/** `now` minus a span in ms or ISO 8601; null when the value is no span. */
function spanStart(value: Json | undefined, now: number): number | null {
  if (typeof value === 'number') return value >= 0 ? now - value : null
  const duration = typeof value === 'string' ? parseDuration(value) : null
  return duration && subtractDuration(now, duration)
}

function isEmpty(field: Json): boolean {
  if (field === null || field === '') return true
  if (Array.isArray(field)) return field.length === 0
  return isJsonObject(field) && Object.keys(field).length === 0
}

/** The values of a list: plain ones by what they are, since a field may have a hundred thousand elements to look for. */
interface Listed {
  plain: ReadonlySet<Json>
  others: readonly Json[]
}

/** Lists of designs do not change while a condition is evaluated; those of texts in lower case stand beside the others. */
const exactLists = new WeakMap<readonly Json[], Listed>()
const foldedLists = new WeakMap<readonly Json[], Listed>()

function listedIn(value: readonly Json[], ci: boolean): Listed {
  const lists = ci ? foldedLists : exactLists
  const known = lists.get(value)
  if (known) return known
  const isPlain = (item: Json) => typeof item !== 'object' || item === null
  const plain = new Set(value.filter(isPlain).map((item) => fold(item, ci) ?? null))
  const found = { plain, others: value.filter((item) => !isPlain(item)) }
  lists.set(value, found)
  return found
}

function isIn(field: Json, { value, ci }: Given): boolean {
  if (!Array.isArray(value)) return false
  const { plain, others } = listedIn(value, ci)
  if (typeof field !== 'object' || field === null) return plain.has(fold(field, ci) ?? null)
  return others.some((item) => jsonEquals(field, item))
}

/** The opposite of a row, for a missing field too. */
function not(row: OperatorRow): OperatorRow {
  return { ...row, missing: !row.missing, test: (field, given) => !row.test(field, given) }
}

const eq: OperatorRow = {
  value: 'scalar',
  missing: false,
  test: (field, { value, ci }) => equals(field, value, ci),
}
const has: OperatorRow = { value: 'element', missing: false, test: contains }
const isOneOf: OperatorRow = { value: 'list', missing: false, test: isIn }
const exists: OperatorRow = { value: 'none', missing: false, test: () => true }
const empty: OperatorRow = { value: 'none', missing: true, test: isEmpty }

/**
 * All operators. Null is a present value (it exists, and is empty). What has the wrong type is false, and its
 * opposite therefore true: `5 not_contains "a"` holds.
 */
export const operatorRows: Record<Operator, OperatorRow> = {
  eq,
  neq: not(eq),
  gt: ordered((order) => order > 0),
  gte: ordered((order) => order >= 0),
  lt: ordered((order) => order < 0),
  lte: ordered((order) => order <= 0),
  contains: has,
  not_contains: not(has),
  starts_with: {
    value: 'text',
    missing: false,
    test: (field, { value, ci }) => onText(field, value, ci, (text, part) => text.startsWith(part)),
  },
  ends_with: {
    value: 'text',
    missing: false,
    test: (field, { value, ci }) => onText(field, value, ci, (text, part) => text.endsWith(part)),
  },
  in: isOneOf,
  not_in: not(isOneOf),
  exists,
  not_exists: not(exists),
  is_empty: empty,
  is_not_empty: not(empty),
  is_true: { value: 'none', missing: false, test: (field) => field === true },
  is_false: { value: 'none', missing: false, test: (field) => field === false },
  before: timed((at, value) => at < value),
  after: timed((at, value) => at > value),
  within_last: ago((at, since, now) => at >= since && at <= now),
  older_than: ago((at, since) => at < since),
}

/** The row of an operator; undefined for a name that is none. */
export function operatorRow(name: string): OperatorRow | undefined {
  return Object.hasOwn(operatorRows, name) ? operatorRows[name as Operator] : undefined
}
