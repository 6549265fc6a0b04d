// Whether what the resolver says is doubted: one that finds none of several domains may itself be at fault, and mail must not
// end by that.
import type { Trace } from '../mail/transport.ts'
import type { DeliveryDeps } from './deps.ts'

/** The resolver is believed for so long after it has found a domain. */
export const RESOLVES_MS = 10 * 60_000
/** So many domains that it does not know, and none that it does, say something of it; fewer may be typing errors. */
const DOUBTED_AT = 3

/**
 * Makes a function that hears of an attempt to a domain, and says whether the resolver is doubted then: it has known none of three
 * domains since it has last found one, ten minutes ago or longer.
 */
export function createResolverDoubt({ now, log }: Pick<DeliveryDeps, 'now' | 'log'>) {
  /** Domains that it did not know since it has found one, as many as are needed. */
  const missing = new Set<string>()
  let foundAt = Number.NEGATIVE_INFINITY
  let isDoubted = false

  return (domain: string, { domainExists }: Pick<Trace, 'domainExists'>): boolean => {
    const time = now().getTime()
    if (domainExists) {
      foundAt = time
      missing.clear()
    } else if (domainExists === false && missing.size < DOUBTED_AT) missing.add(domain)
    const wasDoubted = isDoubted
    isDoubted = missing.size >= DOUBTED_AT && time - foundAt > RESOLVES_MS
    if (isDoubted && !wasDoubted) {
      log.warn('the resolver finds no domain of a recipient: mail waits; look at DNS_SERVERS')
    }
    return isDoubted
  }
}
