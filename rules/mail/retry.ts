// Decides when a failed delivery is tried again, and when it has expired.

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Wait after the first, second, ... attempt. The last one repeats until the delivery expires. */
const retryWaits_ms = [
  1 * MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  30 * MINUTE_MS,
  60 * MINUTE_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
] as const

/** How long an email is tried: 24 h, a broadcast 48 h. */
export const expiry_ms = { transactional: 24 * HOUR_MS, broadcast: 48 * HOUR_MS } as const

const JITTER = 0.2
const GREYLISTING_WAIT_MS = 5 * MINUTE_MS
/**
 * The longest wait after a refusal that is our fault: many of them say nothing about the mail, and their destination is
 * spared by a breaker (breakers.ts).
 */
const OUR_FAULT_WAIT_MS = 15 * MINUTE_MS
/** The longest wait that a reply can ask for; a longer one is cut to this. */
const STATED_WAIT_MAX_MS = 4 * HOUR_MS
const UNIT_MS: Record<string, number> = { s: 1000, m: MINUTE_MS, h: HOUR_MS }

const GREYLISTED = /gr[ae]y[- ]?list/i
const STATED_WAIT =
  /\b(?:again|retry|wait)\b[^\d\n.;]{0,40}?(\d{1,6})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b/i

export type NextAttempt = { kind: 'retry'; at: number } | { kind: 'expired' }

/**
 * Decides the next attempt of a deferred or failed delivery.
 * @param attempt attempts made so far, 1 after the first
 * @param reply the server's reply; null if there was none
 * @param random 0 ≤ x < 1, spreads the retries by ±20 %
 * @param isOurs whether the refusal is our fault; then no wait is longer than 15 minutes, unless the reply names it
 * @returns a time in ms, never after `expiresAt` (the last attempt is made at expiry itself)
 */
export function nextAttempt(input: {
  attempt: number
  now: number
  expiresAt: number
  reply: string | null
  random: number
  isOurs?: boolean
}): NextAttempt {
  if (input.now >= input.expiresAt) return { kind: 'expired' }
  const wait = Math.round(retryWait(input))
  return { kind: 'retry', at: Math.min(input.now + wait, input.expiresAt) }
}

function retryWait(input: Parameters<typeof nextAttempt>[0]): number {
  const { attempt, random } = input
  const reply = input.reply ?? ''
  const stated = statedWait(reply)
  // A server that always asks for a very short wait gets it three times; then a minute is the least.
  if (stated !== null) return attempt <= 3 ? stated : Math.max(stated, MINUTE_MS)
  const index = Math.min(Math.max(attempt, 1), retryWaits_ms.length) - 1
  const longest = input.isOurs ? OUR_FAULT_WAIT_MS : Number.POSITIVE_INFINITY
  const planned = Math.min(retryWaits_ms[index] ?? HOUR_MS, longest)
  const scheduled = planned * (1 - JITTER + 2 * JITTER * random)
  // A greylisting server restarts its clock if it is tried too early, so its wait is a lower bound.
  return GREYLISTED.test(reply) ? Math.max(GREYLISTING_WAIT_MS, scheduled) : scheduled
}

/** The wait in ms that a reply asks for ("try again in 10 minutes"); null if it names none. */
export function statedWait(reply: string): number | null {
  const [, amount, unit] = STATED_WAIT.exec(reply) ?? []
  if (amount === undefined || unit === undefined) return null
  const unitMs = UNIT_MS[unit.charAt(0).toLowerCase()] ?? MINUTE_MS
  return Math.min(Math.max(Number(amount) * unitMs, 1000), STATED_WAIT_MAX_MS)
}
