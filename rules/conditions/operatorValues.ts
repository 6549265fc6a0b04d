// Which values a design may write beside each operator, and how to say so.

import { parseTime } from '../dates.ts'
import { isTooLong, parseDuration } from '../duration.ts'
import { limits } from '../limits.ts'
import { operatorRows, type ValueKind } from './operators.ts'
import type { Operator } from './types.ts'

const isScalar = (value: unknown): boolean =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value)

const isTextOrNumber = (value: unknown): value is string | number =>
  typeof value === 'number' || typeof value === 'string'

/** For each kind of value: what it must be, and whether it is. */
const valueKinds: Record<ValueKind, { needs: string; holds(value: unknown): boolean }> = {
  none: { needs: 'no value', holds: () => true },
  scalar: { needs: 'text, a number, true, false or null', holds: isScalar },
  element: {
    needs: 'text, a number, true or false',
    holds: (value) => value !== null && isScalar(value),
  },
  ordered: { needs: 'a number or text', holds: isTextOrNumber },
  text: { needs: 'text', holds: (value) => typeof value === 'string' },
  list: {
    needs: `an array of 1-${limits.conditionListMax} plain values`,
    holds: (value) =>
      Array.isArray(value) &&
      value.length > 0 &&
      value.length <= limits.conditionListMax &&
      value.every(isScalar),
  },
  time: {
    needs: 'a time in ms or ISO 8601',
    holds: (value) => isTextOrNumber(value) && parseTime(value) !== null,
  },
  span: {
    needs: `a duration in ms or ISO 8601, ${limits.durationYearsMax} years at most`,
    holds: isSpan,
  },
}

function isSpan(value: unknown): boolean {
  if (typeof value === 'number') return value >= 0 && !isTooLong({ kind: 'exact', ms: value })
  const duration = typeof value === 'string' ? parseDuration(value) : null
  return duration !== null && !isTooLong(duration)
}

/** What must stand as `value` beside the operator, for readers of the docs. */
export const valueText = (operator: Operator): string =>
  valueKinds[operatorRows[operator].value].needs

/** What the operator needs in place of this value, or null when it may have it. */
export function valueFault(operator: Operator, value: unknown): string | null {
  const kind = valueKinds[operatorRows[operator].value]
  return kind.holds(value) ? null : kind.needs
}
