// Caches the DNS questions that find mail servers (MX, A, AAAA), so that a destination needs only a few questions
// a minute.
import { LRUCache } from 'lru-cache'
import type { Dns, DnsAnswer } from './resolver.ts'

export interface DnsCacheOptions {
  /** How long an answer is kept, also the answer that there is no record. */
  answerMs?: number
  /** How long a failure is kept, so that a broken zone is not asked again for every message. */
  failureMs?: number
  /** The most answers that are kept; the least recently used ones are dropped first. */
  entriesMax?: number
  /** ms of a clock that nobody sets; absent: `performance.now`. */
  now?: () => number
}

const ANSWER_MS = 60_000
const FAILURE_MS = 10_000
const ENTRIES_MAX = 50_000

interface Entry {
  /** Shared by all callers while the question is under way. */
  answer: Promise<DnsAnswer<unknown>>
  until: number
}

/** Wraps a DNS with a cache for `mx`, `a` and `aaaa`. Other types are not cached. */
export function cachedDns(dns: Dns, options: DnsCacheOptions = {}): Dns {
  const { answerMs = ANSWER_MS, failureMs = FAILURE_MS, entriesMax = ENTRIES_MAX } = options
  const now = options.now ?? (() => performance.now())

  function remember<T>(ask: (name: string) => Promise<DnsAnswer<T>>) {
    const entries = new LRUCache<string, Entry>({ max: entriesMax })
    return (name: string): Promise<DnsAnswer<T>> => {
      const known = entries.get(name)
      // this map has only answers of `ask`
      if (known && now() < known.until) return known.answer as Promise<DnsAnswer<T>>
      const answer = ask(name)
      const entry = { answer, until: Number.POSITIVE_INFINITY }
      entries.set(name, entry)
      void answer.then(({ kind }) => {
        const failed = kind === 'servfail' || kind === 'timeout'
        entry.until = now() + (failed ? failureMs : answerMs)
      })
      return answer
    }
  }

  return { ...dns, mx: remember(dns.mx), a: remember(dns.a), aaaa: remember(dns.aaaa) }
}
