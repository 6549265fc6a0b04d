// The rule of a start that says whether a contact may enter again.
import { z } from 'zod'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkMs, checkOneOf, isGiven, isPropertyPath } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { isJsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { shown, typeName } from '../shown.ts'
import { ms } from './fields.ts'

/** Of each mode, when the same contact may start again; the first is that of a trigger without a rule. */
export const reEntryTexts = {
  every: 'at each event',
  once: 'never, after the first time',
  after_exit: 'as soon as no execution of this workflow runs for them',
  interval: '`min_interval_ms` after they last started',
} as const
const reEntryModes = Object.keys(reEntryTexts) as (keyof typeof reEntryTexts)[]

const modesText = reEntryModes.map((mode) => `\`${mode}\`: ${reEntryTexts[mode]}`).join('; ')

export const reEntry = z
  .object({
    mode: z.enum(reEntryModes).describe(`When the same contact may start again. ${modesText}`),
    min_interval_ms: ms
      .describe('Required with mode `interval`, unused otherwise: the least ms between two starts')
      .exactOptional(),
    key_path: z
      .string()
      .max(limits.pathCharsMax)
      .describe(
        'A property of the triggering event, such as `order_id`: the rule then holds for each of its values apart',
      )
      .exactOptional(),
  })
  .describe('Whether the same contact may start again; absent: at each event')
export type ReEntry = z.infer<typeof reEntry> & {
  /** The rule holds for each `status` of the triggering event apart. No design says so: it is part of a trigger's own rule. */
  of_each_status?: boolean
}

/** Every problem of the key `re_entry`; none when it is absent. */
export function checkReEntry(at: CheckAt): Problem[] {
  const value = at.data['re_entry']
  if (!isGiven(value)) return []
  if (!isJsonObject(value)) {
    const message = `re_entry must be an object with a mode, not ${typeName(value)}`
    return problemAt(at, 're_entry', 'bad_value', message)
  }
  const inner: CheckAt = { ...at, path: `${at.path}.re_entry`, data: value }
  const { mode, min_interval_ms: interval, key_path: key } = value
  const problems = [
    ...checkOneOf(inner, 'mode', reEntryModes),
    ...checkMs(inner, 'min_interval_ms'),
  ]
  if (mode === 'interval' && !isGiven(interval)) {
    const message = 'min_interval_ms is required with mode interval'
    problems.push(...problemAt(inner, 'min_interval_ms', 'missing_value', message))
  }
  if (isGiven(key) && !isPropertyPath(key)) {
    const message = `key_path must be a path of the event such as order_id, not ${shown(key)}`
    problems.push(...problemAt(inner, 'key_path', 'unknown_field', message))
  }
  return problems
}
