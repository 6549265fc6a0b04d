// Remembers what was asked to find mail servers (MX, A, AAAA), so that a destination costs a few questions a minute.
import { LRUCache } from 'lru-cache'
import type { Dns, DnsAnswer } from './resolver.ts'

export interface DnsCacheOptions {
  /** How long "there it is" and "there is none" are believed. */
  answerMs?: number
  /** The same for a failure: long enough that a broken zone is not asked for every mail. */
  failureMs?: number
  /** Answers kept at most; those not asked for longest go first. */
  entriesMax?: number
  now?: () => number
}

const ANSWER_MS = 60_000
const FAILURE_MS = 10_000
const ENTRIES_MAX = 50_000

interface Entry {
  /** Shared by all who ask while it is under way. */
  answer: Promise<DnsAnswer<unknown>>
  until: number
}

/** The same DNS with a memory for `mx`, `a` and `aaaa`; the other types are asked anew each time. */
export function cachedDns(dns: Dns, options: DnsCacheOptions = {}): Dns {
  const { answerMs = ANSWER_MS, failureMs = FAILURE_MS, entriesMax = ENTRIES_MAX } = options
  const now = options.now ?? Date.now

  function remember<T>(ask: (name: string) => Promise<DnsAnswer<T>>) {
    const entries = new LRUCache<string, Entry>({ max: entriesMax })
    return (name: string): Promise<DnsAnswer<T>> => {
      const known = entries.get(name)
      // only answers of `ask` are in this map
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
