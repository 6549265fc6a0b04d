// The lines that `npm run limits` prints.
import type { LimitRow } from '../db/limits/reads.ts'

/** A limit with how much of today's emails is used; null: they are not limited. */
export type LimitState = LimitRow & { used_today: number | null }

/** One line for each limit. @param asked the one that was asked for, which may have none */
export function limitLines(
  states: readonly LimitState[],
  asked: { subject: string; name: string } | undefined,
): string[] {
  if (states.length > 0) return states.map(lineOf)
  return [asked ? `${asked.name} (${asked.subject}) has no limits.` : 'Nothing is limited.']
}

function lineOf({ subject, per_second, burst, emails_per_day, used_today }: LimitState): string {
  const parts: string[] = []
  if (per_second !== null) {
    const atOnce = burst ?? Math.max(1, Math.ceil(per_second))
    parts.push(`${per_second} requests a second, ${atOnce} at once, for each API process`)
  }
  if (emails_per_day !== null) {
    parts.push(`${emails_per_day} emails a day, ${used_today ?? 0} places of today (UTC) taken`)
  }
  return `${subject}: ${parts.join('; ')}`
}
