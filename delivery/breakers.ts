// The breakers of this process: mail that would be refused for what is our fault is not tried, except one a minute.
import type { Logger } from 'pino'
import type { ClaimedDelivery } from '../db/deliveries/claim.ts'
import type { Outcome } from '../mail/transport.ts'
import { addressDomain } from '../rules/addresses.ts'
import type { Bounce } from '../rules/mail/bounceRules.ts'
import {
  afterRefusal,
  afterUntried,
  askBreaker,
  type Breaker,
  type BreakerKind,
  closedBreaker,
  isProbeDue,
} from '../rules/mail/breakers.ts'
import { openWithin } from '../rules/mail/openTimes.ts'
import { isBeforeMail } from '../rules/mail/phases.ts'
import { isProvider } from '../rules/mail/providers.ts'
import { type BreakerKey, createKnownBreakers, type KnownBreakers } from './knownBreakers.ts'
import { createProving } from './proving.ts'

const BREAKERS_MAX = 10_000
/** How many refusals within a minute open a breaker. What a relay says to one mail it says to all. */
const OPENS_AT = { relay: 1, mx: 3 } as const
/** The destination of all mail in the mode relay. */
const RELAY = 'relay'

const kinds: readonly BreakerKind[] = ['account', 'address', 'sender']

type Busy = Extract<Outcome, { kind: 'busy' }>

/** Whether a delivery may be tried. */
export type Admission =
  /**
   * It is tried. `ended` must be called once: with its outcome and what that refuses, or with null if it did not reach
   * the transport.
   */
  { kind: 'go'; ended: (outcome: Outcome | null, refusal: Bounce | null) => void } | Busy

/**
 * What breakers let through of all mail. `all`: what they do not name; `tries`: of all mail only some that are tried, and
 * one may be now; `none`: none may be now.
 */
export type Passage = 'all' | 'tries' | 'none'

/** What breakers ask of a delivery. */
type Addressed = Pick<ClaimedDelivery, 'recipient' | 'destination' | 'domain_id'>

export interface Breakers {
  /** Says whether a delivery may be tried now. Deliveries to a relay that has answered nothing yet may wait a moment. */
  admit(delivery: Addressed): Promise<Admission>
  /** How long one was open for a delivery since it was due, in ms. */
  heldFor(delivery: Addressed & Pick<ClaimedDelivery, 'next_at'>): number
  /** Whether one is open for a delivery now. */
  isOpenFor(delivery: Addressed): boolean
  /** What they let through to the relay. In direct delivery none closes all destinations: `all`. */
  passage(): Passage
  /** How many are open, by kind. */
  countOpen(): Record<BreakerKind, number>
}

/**
 * Makes the breakers of one process. A restart forgets them, and tries again.
 * @param deps `random`: 0 ≤ x < 1; `max`: how many are remembered
 */
export function createBreakers(deps: {
  mode: 'relay' | 'mx'
  log: Pick<Logger, 'info' | 'warn'>
  now: () => Date
  random?: () => number
  max?: number
}): Breakers {
  const { mode, random = Math.random, max = BREAKERS_MAX } = deps
  const now = () => deps.now().getTime()
  const known = createKnownBreakers(deps.log, max)
  const proving = createProving(mode === 'relay')

  const keysFor = (delivery: Addressed) =>
    keysOf(mode === 'relay' ? RELAY : receiverOf(delivery), delivery.domain_id)

  return {
    async admit(delivery) {
      const subject = { keys: keysFor(delivery), domainId: delivery.domain_id }
      const leave = await proving.enter()
      const waits = ask(known, subject, now(), random)
      if (waits) {
        leave(false)
        return waits
      }
      return {
        kind: 'go',
        ended(outcome, refusal) {
          hear(known, subject, { outcome, refusal, at: now(), opensAt: OPENS_AT[mode] })
          leave(outcome !== null && outcome.kind !== 'busy')
        },
      }
    },
    heldFor(delivery) {
      const time = now()
      const times = keysFor(delivery).flatMap((key) => known.openTimes(key, time))
      return openWithin(times, delivery.next_at.getTime(), time)
    },
    isOpenFor: (delivery) => keysFor(delivery).some((key) => known.get(key).open !== null),
    passage() {
      const closing = mode === 'relay' ? ofAllMail.flatMap((key) => known.get(key).open ?? []) : []
      if (closing.length === 0) return 'all'
      return closing.every((open) => isProbeDue(open, now())) ? 'tries' : 'none'
    },
    countOpen: () => known.countOpen(now()),
  }
}

/** A mail as its breakers see it. */
interface Subject {
  keys: readonly BreakerKey[]
  /** The sending domain. */
  domainId: string
}

/** The breakers that close the relay for all mail. */
const ofAllMail: readonly BreakerKey[] = (['account', 'address'] as const).map((kind) => ({
  kind,
  destination: RELAY,
  domainId: null,
}))

/** Who takes a mail in direct delivery: the provider, which says the same to all domains behind it, or the domain. */
const receiverOf = ({ recipient, destination }: Addressed): string =>
  isProvider(destination) ? destination : addressDomain(recipient).toLowerCase()

const keysOf = (destination: string, domainId: string): BreakerKey[] =>
  kinds.map((kind) => ({ kind, destination, domainId: kind === 'sender' ? domainId : null }))

/** Asks all breakers that a mail is about. Only if each lets it pass, it counts as tried. @returns null: it may go */
function ask(
  known: KnownBreakers,
  subject: Subject,
  at: number,
  random: () => number,
): Busy | null {
  const asked = subject.keys.flatMap((key) => {
    const before = known.get(key)
    return before.open ? [{ key, ...askBreaker(before, subject.domainId, at, random()) }] : []
  })
  const waits: { key: BreakerKey; breaker: Breaker; wait_ms: number }[] = []
  for (const { key, breaker, answer } of asked) {
    if (answer.kind === 'wait') waits.push({ key, breaker, wait_ms: answer.wait_ms })
  }
  const [first] = waits
  for (const { key, breaker } of first ? waits : asked) known.set(key, breaker, at)
  if (!first) return null
  return {
    kind: 'busy',
    error: `not tried now, since mail is refused for a fault of ours (${first.key.kind})`,
    retryAfter_ms: Math.max(...waits.map(({ wait_ms }) => wait_ms)),
  }
}

function hear(
  known: KnownBreakers,
  { keys, domainId }: Subject,
  heard: { outcome: Outcome | null; refusal: Bounce | null; at: number; opensAt: number },
): void {
  const { outcome, refusal, at, opensAt } = heard
  const ours = refusal?.fault === 'ours' ? refusal.speaksOf : null
  for (const key of keys) {
    const breaker = known.get(key)
    if (key.kind === ours) {
      const code = outcome?.kind === 'rejected' ? outcome.code : null
      known.set(key, afterRefusal(breaker, domainId, at, opensAt), at, code)
    } else if (breaker !== closedBreaker) {
      if (outcome === null || outcome.kind === 'busy') {
        known.set(key, afterUntried(breaker, at), at)
      } else if (isPassed(outcome)) known.set(key, closedBreaker, at)
    }
  }
}

/**
 * Whether a server took a mail, or refused it for another reason. A refusal before MAIL says nothing of what comes
 * after it, nor does a connection that fails.
 */
function isPassed(outcome: Outcome): boolean {
  if (outcome.kind === 'delivered') return true
  if (outcome.kind !== 'rejected') return false
  return !isBeforeMail(outcome.phase)
}
