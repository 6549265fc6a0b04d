// The memory of breakers: those that are not plainly closed, bounded; says in the log when one opens and when it closes.
import type { Logger } from 'pino'
import { type Breaker, type BreakerKind, closedBreaker } from '../rules/mail/breakers.ts'

/** What a breaker is about. */
export interface BreakerKey {
  kind: BreakerKind
  destination: string
  /** The sending domain of a breaker of the kind `sender`; null: it is about all of them. */
  domainId: string | null
}

/** After this time without mail that it is about, an open breaker is forgotten: nothing waits for it any more. */
const UNUSED_MS = 60 * 60_000

export type KnownBreakers = ReturnType<typeof createKnownBreakers>

/** @param max how many are remembered; beyond them the one that was used longest ago is forgotten */
export function createKnownBreakers(log: Pick<Logger, 'info' | 'warn'>, max: number) {
  // The one used last at the end.
  const entries = new Map<string, { kind: BreakerKind; breaker: Breaker; usedAt: number }>()
  const nameOf = ({ kind, destination, domainId }: BreakerKey) =>
    `${kind} ${destination} ${domainId ?? ''}`

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
      if (entries.size > max && oldest !== undefined) entries.delete(oldest)
      if (isOpen === wasOpen) return
      const { kind, destination, domainId } = key
      const fields = { kind, destination, ...(domainId === null ? {} : { domain_id: domainId }) }
      if (isOpen) log.warn({ ...fields, code }, 'a breaker opened: one mail a minute is tried')
      else log.info(fields, 'a breaker closed')
    },
    /** How many are open, by kind. */
    countOpen(now: number): Record<BreakerKind, number> {
      const counts = { sender: 0, address: 0, account: 0 }
      for (const [name, { kind, breaker, usedAt }] of entries) {
        if (usedAt <= now - UNUSED_MS) entries.delete(name)
        else if (breaker.open) counts[kind] += 1
      }
      return counts
    },
  }
}
