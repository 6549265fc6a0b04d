// The rule of a start that says whether a contact may enter again.
import { z } from 'zod'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkMs, checkOneOf, isGiven, isPropertyPath } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { isJsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { ms } from './fields.ts'

const reEntryModes = ['every', 'once', 'after_exit', 'interval'] as const

export const reEntry = z
  .object({
    mode: z
      .enum(reEntryModes)
      .describe(
        '`every` time; `once` for ever; `after_exit` of the execution before; or once an `interval`',
      ),
    min_interval_ms: ms
      .describe('With mode `interval`: the least time between two entries')
      .exactOptional(),
    key_path: z
      .string()
      .max(limits.pathCharsMax)
      .describe('A property of the event, such as order_id: the rule then holds for each value')
      .exactOptional(),
  })
  .describe('Whether a contact may enter again')
export type ReEntry = z.infer<typeof reEntry>

/** Every problem of the key `re_entry`; none when it is absent. */
export function checkReEntry(at: CheckAt): Problem[] {
  const value = at.data['re_entry']
  if (!isGiven(value)) return []
  if (!isJsonObject(value))
    return problemAt(at, 're_entry', 'bad_value', 're_entry must be an object')
  const inner: CheckAt = { ...at, path: `${at.path}.re_entry`, data: value }
  const { mode, min_interval_ms: interval, key_path: key } = value
  const problems = [
    ...checkOneOf(inner, 'mode', reEntryModes),
    ...checkMs(inner, 'min_interval_ms'),
  ]
  if (mode === 'interval' && !isGiven(interval)) {
    const message = 'mode interval needs min_interval_ms'
    problems.push(...problemAt(inner, 'min_interval_ms', 'missing_value', message))
  }
  if (isGiven(key) && !isPropertyPath(key)) {
    const message = 'key_path must be a path of the event, such as order_id'
    problems.push(...problemAt(inner, 'key_path', 'unknown_field', message))
  }
  return problems
}
