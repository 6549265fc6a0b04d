// A breaker: after refusals that are our fault it stays open, and then one mail a minute is tried until one passes. Pure.

/**
 * What a breaker closes. `sender`: one sending domain towards a destination. `address`: the network address that we send
 * from, towards a destination. `account`: our login or account there.
 */
export type BreakerKind = 'sender' | 'address' | 'account'

export interface Breaker {
  /** Times of refusals within the last minute, while it is closed; ms. */
  readonly refusals: readonly number[]
  /** null: closed. */
  readonly open: OpenBreaker | null
}

interface OpenBreaker {
  /** When the next mail may be tried; ms. */
  readonly probeAt: number
  /** When the last mail was tried; ms. */
  readonly triedAt: number
  /** The sending domain whose mail was refused last. */
  readonly failedLast: string
  /** Whether that refusal opened it: then a mail of another domain may be tried at once. */
  readonly isFresh: boolean
  /** Of the domains that wait, when the first mail of each asks again (ms); the one that asked last at the end. */
  readonly firsts: readonly { readonly domain: string; readonly at: number }[]
  /** When the last waiting mail comes back; ms. */
  readonly lineEnd: number
}

export type Answer =
  | { kind: 'go' }
  /** It is tried while the breaker is open. */
  | { kind: 'probe' }
  /** Not tried now: it asks again after so long. */
  | { kind: 'wait'; wait_ms: number }

const MINUTE_MS = 60_000
/** While a mail has just gone to be tried, others come back after this time to twice this time. */
const ANSWER_MS = 2_000
/** The most domains whose first mail is remembered. */
const DOMAINS_MAX = 4
/** How long the first mail of another domain is waited for after its time. */
const LATE_MS = 10_000
/** Waiting mail comes back one by one after the probe, so that a breaker that closes lets it through in order. */
const SPACING_MS = 20
/** The longest wait; longer lines come back at random times before it. */
const LINE_MS_MAX = 5 * MINUTE_MS
/**
 * The next try is planned a minute ahead. One that is further away than twice that was planned by a clock that was set back since; a small
 * correction of the clock changes nothing.
 */
const AHEAD_MS_MAX = 2 * MINUTE_MS

/** A breaker about which nothing is known. */
export const closedBreaker: Breaker = { refusals: [], open: null }

/** The breaker without what was planned, if the clock was set back since: nobody waits until it is there again. */
const unlessSetBack = (open: OpenBreaker, now: number): OpenBreaker =>
  open.probeAt > now + AHEAD_MS_MAX
    ? { ...open, probeAt: now, triedAt: Number.NEGATIVE_INFINITY, firsts: [], lineEnd: 0 }
    : open

/** Whether a mail may be tried now while it is open. */
export const isProbeDue = (open: OpenBreaker, now: number): boolean =>
  now >= unlessSetBack(open, now).probeAt

/**
 * What to do with a mail that the breaker is about.
 * @param domain the sending domain of the mail
 * @param now ms; always from the same clock, which may be set back
 * @param random 0 ≤ x < 1
 */
export function askBreaker(
  breaker: Breaker,
  domain: string,
  now: number,
  random: number,
): { breaker: Breaker; answer: Answer } {
  if (!breaker.open) return { breaker, answer: { kind: 'go' } }
  const open = unlessSetBack(breaker.open, now)
  const isOther = domain !== open.failedLast
  const isDue = now >= open.probeAt || (open.isFresh && isOther)
  const others = open.firsts.filter((first) => first.domain !== domain)
  // The domain that failed last lets another one go first, unless that does not come.
  const isTurn = isOther || others.every(({ at }) => now >= at + LATE_MS)
  if (isDue && isTurn) {
    const turn = { triedAt: now, probeAt: now + MINUTE_MS, isFresh: false, firsts: others }
    return { breaker: { ...breaker, open: { ...open, ...turn } }, answer: { kind: 'probe' } }
  }
  if (now < open.triedAt + ANSWER_MS) {
    return { breaker, answer: { kind: 'wait', wait_ms: Math.ceil(ANSWER_MS * (1 + random)) } }
  }
  const { changed, at } = placeOf(open, domain, now, random)
  const answer = { kind: 'wait', wait_ms: Math.max(1, Math.ceil(at - now)) } as const
  return { breaker: { ...breaker, open: changed }, answer }
}

/** Gives a mail its place: the first of its domain comes when the next mail may be tried, the others in a line after it. */
function placeOf(open: OpenBreaker, domain: string, now: number, random: number) {
  const least = now < open.probeAt ? open.probeAt : now + SPACING_MS
  const first = open.firsts.find((one) => one.domain === domain)
  if (!first || first.at <= now) {
    const others = open.firsts.filter((one) => one !== first).slice(1 - DOMAINS_MAX)
    return { changed: { ...open, firsts: [...others, { domain, at: least }] }, at: least }
  }
  const last = least + LINE_MS_MAX
  const place = Math.max(open.lineEnd, least) + SPACING_MS
  const at = place <= last ? place : least + random * LINE_MS_MAX
  return { changed: { ...open, lineEnd: Math.min(place, last) }, at }
}

/**
 * The breaker after a refusal that it is for.
 * @param opensAt how many refusals within a minute open it
 */
export function afterRefusal(
  breaker: Breaker,
  domain: string,
  now: number,
  opensAt: number,
): Breaker {
  const { open } = breaker
  // What was under way when it opened is refused too. Once a second domain is, no mail goes before its minute.
  if (open) {
    const isFresh = open.isFresh && domain === open.failedLast
    return { ...breaker, open: { ...open, failedLast: domain, isFresh } }
  }
  const refusals = [...breaker.refusals.filter((at) => at > now - MINUTE_MS), now].slice(-opensAt)
  if (refusals.length < opensAt) return { refusals, open: null }
  return {
    refusals: [],
    open: {
      probeAt: now + MINUTE_MS,
      triedAt: Number.NEGATIVE_INFINITY,
      failedLast: domain,
      isFresh: true,
      firsts: [],
      lineEnd: 0,
    },
  }
}

/** The breaker after a mail was sent to be tried and was not: another may be tried instead. */
export function afterUntried(breaker: Breaker, now: number): Breaker {
  const { open } = breaker
  return open ? { ...breaker, open: { ...open, probeAt: Math.min(open.probeAt, now) } } : breaker
}
