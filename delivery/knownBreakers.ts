// The memory of breakers: those that are not plainly closed, bounded; says in the log when one opens and when it closes.
import type { Logger } from 'pino'
import { type Breaker, type BreakerKind, closedBreaker } from '../rules/mail/breakers.ts'
import type { OpenTime } from '../rules/mail/openTimes.ts'

/** What a breaker is about. */
export interface BreakerKey {
  kind: BreakerKind
  destination: string
  /** The sending domain of a breaker of the kind `sender`; null: it is about all of them. */
  domainId: string | null
}

/** After this time without mail that it is about, an open breaker is forgotten: nothing waits for it any more. */
const UNUSED_MS = 60 * 60_000
/** Mail may stand in line for longer than that it was open; after this time nothing asks for it any more. */
const TIMES_MS = 7 * 24 * 60 * 60_000
/** The latest times of one breaker that are kept. */
const TIMES_MAX = 100

export type KnownBreakers = ReturnType<typeof createKnownBreakers>

/** @param max how many are remembered; beyond them the one that was used longest ago is forgotten */
export function createKnownBreakers(log: Pick<Logger, 'info' | 'warn'>, max: number) {
  // The one used last at the end.
  const entries = new Map<string, { kind: BreakerKind; breaker: Breaker; usedAt: number }>()
  const nameOf = ({ kind, destination, domainId }: BreakerKey) =>
    `${kind} ${destination} ${domainId ?? ''}`

  const times = createOpenTimes(max)

  const get = (key: BreakerKey): Breaker => entries.get(nameOf(key))?.breaker ?? closedBreaker

  return {
    /** The breaker; `closedBreaker` itself if nothing is known about it. */
    get,
    /** @param code of the refusal that may have opened it */
    set(key: BreakerKey, breaker: Breaker, now: number, code: number | null = null): void {
      const name = nameOf(key)
      const wasOpen = get(key).open !== null
      const isOpen = breaker.open !== null
      entries.delete(name)
      if (isOpen || breaker.refusals.length > 0) {
        entries.set(name, { kind: key.kind, breaker, usedAt: now })
      }
      const [oldest] = entries.keys()
      if (entries.size > max && oldest !== undefined) {
        entries.delete(oldest)
        times.closed(oldest, now)
      }
      if (isOpen === wasOpen) return
      if (isOpen) times.opened(name, now)
      else times.closed(name, now)
      const { kind, destination, domainId } = key
      const fields = { kind, destination, ...(domainId === null ? {} : { domain_id: domainId }) }
      if (isOpen) log.warn({ ...fields, code }, 'a breaker opened: one mail a minute is tried')
      else log.info(fields, 'a breaker closed')
    },
    /** When it was open in the last seven days. */
    openTimes: (key: BreakerKey, now: number): OpenTime[] => times.of(nameOf(key), now),
    /** How many are open, by kind. */
    countOpen(now: number): Record<BreakerKind, number> {
      const counts = { sender: 0, address: 0, account: 0 }
      for (const [name, { kind, breaker, usedAt }] of entries) {
        if (usedAt <= now - UNUSED_MS) {
          entries.delete(name)
          times.closed(name, now)
        } else if (breaker.open) counts[kind] += 1
      }
      return counts
    },
  }
}

/** Remembers when breakers were open, by their names. @param max of how many; beyond them the one that opened first is forgotten */
function createOpenTimes(max: number) {
  // Of each the latest time at the end.
  const known = new Map<string, OpenTime[]>()
  return {
    opened(name: string, now: number): void {
      const times = known.get(name) ?? []
      known.delete(name)
      known.set(name, [...times, { from: now, to: null }].slice(-TIMES_MAX))
      const [oldest] = known.keys()
      if (known.size > max && oldest !== undefined) known.delete(oldest)
    },
    closed(name: string, now: number): void {
      const times = known.get(name) ?? []
      const last = times.at(-1)
      if (last) known.set(name, [...times.slice(0, -1), { from: last.from, to: last.to ?? now }])
    },
    of: (name: string, now: number): OpenTime[] =>
      (known.get(name) ?? []).filter(({ to }) => to === null || to > now - TIMES_MS),
  }
}
