// What is remembered of the domains of recipients: for how long, and since when one is missing in the DNS.

const DAY_MS = 24 * 60 * 60_000

/** While a domain gets mail, what is remembered of it is written again after this time. */
export const REMEMBERED_AGAIN_MS = DAY_MS
/** What was not used for so long is forgotten: it is found again with the next mail. */
export const REMEMBERED_MS = 90 * DAY_MS
/** The same of a domain without a destination: one that is missing, or nothing else is known of. */
export const REMEMBERED_WITHOUT_DESTINATION_MS = 30 * DAY_MS

/**
 * Looks that are further apart say nothing about the time between them: two short faults of the DNS, months apart, are
 * two faults. With mail once a week, one of which may be left out, the looks at a dead domain still belong together. A
 * wrong guess here (two faults within two weeks, at the only moments in which somebody looked, while other domains were
 * found) suppresses a good address for thirty days; the other one costs an attempt for each mail.
 */
const MISSED_APART_MS = 14 * DAY_MS

/** When the DNS did not know a domain, which was never found between these times. */
export interface Missing {
  since: Date
  /** The last look, or one within a day before it. */
  lastAt: Date
}

/**
 * After a look at which the DNS did not know the domain. Returns `before` itself if that need not be written again.
 * @param before undefined: it was not missing at the last look, or was never looked up
 */
export function missedAgain(before: Missing | undefined, now: Date): Missing {
  const apart_ms = before ? now.getTime() - before.lastAt.getTime() : Number.POSITIVE_INFINITY
  if (!before || apart_ms > MISSED_APART_MS) return { since: now, lastAt: now }
  return apart_ms < REMEMBERED_AGAIN_MS ? before : { since: before.since, lastAt: now }
}
