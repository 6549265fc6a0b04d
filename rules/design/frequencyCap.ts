// The setting `frequency_cap`: how much marketing mail a contact gets in a span of time, and what becomes of more.
import { z } from 'zod'
import { isJsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { ms } from '../nodes/fields.ts'
import { shown, typeName } from '../shown.ts'
import { type CheckAt, problemAt } from './context.ts'
import { checkMs, checkOneOf, isGiven } from './fieldChecks.ts'
import type { Problem } from './problem.ts'

const onHit = ['wait', 'skip'] as const

export const frequencyCap = z
  .object({
    count: z
      .int()
      .min(1)
      .max(limits.frequencyCapCountMax)
      .describe('So many marketing mails, of all workflows together'),
    per_ms: ms.min(1).describe('Within any span of so many ms'),
    on_hit: z
      .enum(onHit)
      .describe(
        'What becomes of a marketing mail that would be one more: `wait` puts it off to the moment at which it fits; `skip` ' +
          'does not send it, and `skipped` is taken',
      )
      .meta({ default: 'skip' })
      .exactOptional(),
  })
  .describe(
    'How much marketing mail a contact gets; mail of this design waits for others, or is skipped',
  )
export type FrequencyCap = z.infer<typeof frequencyCap>

/** Every problem of the key `frequency_cap`; none when it is absent. */
export function checkFrequencyCap(at: CheckAt): Problem[] {
  const value = at.data['frequency_cap']
  if (!isGiven(value)) return []
  if (!isJsonObject(value)) {
    const message = `frequency_cap must be an object with count and per_ms, not ${typeName(value)}`
    return problemAt(at, 'frequency_cap', 'bad_value', message)
  }
  const inner: CheckAt = { ...at, path: `${at.path}.frequency_cap`, data: value }
  return [...checkCount(inner), ...checkSpan(inner), ...checkOneOf(inner, 'on_hit', onHit)]
}

function checkCount(at: CheckAt): Problem[] {
  const { count } = at.data
  if (!isGiven(count)) return problemAt(at, 'count', 'missing_value', 'count is required')
  const most = limits.frequencyCapCountMax
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= most) return []
  const message = `count must be a whole number from 1 to ${most}, not ${shown(count)}`
  return problemAt(at, 'count', 'bad_value', message)
}

function checkSpan(at: CheckAt): Problem[] {
  const { per_ms: span } = at.data
  if (!isGiven(span)) return problemAt(at, 'per_ms', 'missing_value', 'per_ms is required')
  return checkMs(at, 'per_ms', 1)
}

/**
 * When one more marketing mail fits under a cap, ms; null: now. A mail leaves the window as long after it was written as the
 * window is, at that very millisecond.
 * @param sent times of the contact's marketing mail, ms, in any order
 */
export function capEnds(
  { count, per_ms: span }: FrequencyCap,
  sent: readonly number[],
  now: number,
): number | null {
  const within = sent.filter((at) => at + span > now).sort((a, b) => b - a)
  // One more fits as soon as all but `count - 1` of them have left the window.
  const last = within[count - 1]
  return last === undefined ? null : last + span
}
