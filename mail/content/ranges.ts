// Bounds the ranges of templates, `(1..10)`: the engine would make the whole array first, whatever its length.
import { Expression, Tokenizer, TypeGuards, type ValueToken } from 'liquidjs'
import { limits } from '../../rules/limits.ts'

/** The name of the filter that checks a range. No template can write it, because of its space. */
export const RANGE_CHECK = 'range check'

/**
 * The filter behind the end of each range. The engine evaluates both ends before it makes the array.
 * @returns the end
 * @throws Error when the range is too long, or counts where adding 1 to a number no longer changes it
 */
export function checkRange(end: unknown, start: unknown): unknown {
  const [first, last] = [Number(start), Number(end)]
  if (last - first + 1 > limits.templateRangeMax) {
    throw new Error(`a range of over ${limits.templateRangeMax} elements`)
  }
  const unsafe = Math.max(Math.abs(first), Math.abs(last)) > Number.MAX_SAFE_INTEGER
  if (last >= first && unsafe) throw new Error('a range of numbers that are too large')
  return end
}

/**
 * Makes every range that is parsed from now on check its length, wherever it stands: in `for`, in an output, in an
 * assignment or as the argument of a filter. The engine reads all of them in this one method of its tokenizer.
 */
export function boundRanges(): void {
  const { prototype } = Tokenizer
  const read = prototype.readGroupOrRange
  prototype.readGroupOrRange = function () {
    const token = read.call(this)
    if (token && TypeGuards.isRangeToken(token)) token.rhs = checked(token.rhs, token.lhs)
    return token
  }
}

/** A token whose value is that of `end`, after the check. */
function checked(end: ValueToken, start: ValueToken): ValueToken {
  const token = new Tokenizer('0 | check: 0').readFilteredValue()
  token.initial = new Expression([end])
  for (const filter of token.filters) Object.assign(filter, { name: RANGE_CHECK, args: [start] })
  return token
}
