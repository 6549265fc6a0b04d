// Whether a resolver is doubted that does not find the domain of a recipient: one that does not find what must be there either is
// itself at fault, and mail must not end by what it says.
import { cachedDns } from './cache.ts'
import { findMxHosts, type MxHosts } from './mxHosts.ts'
import type { Dns } from './resolver.ts'

/** So long no domain is asked for once more, however many domains of recipients are not found. */
const KNOWN_MS = 5_000
/** What was asked while it was doubted may be answered from a cache for so long (`dnsCache`). */
const CACHED_MS = 65_000
/** Domains of which that is known at a time. */
const KNOWN_MAX = 1_000

export interface DoubtOptions {
  /** The resolver in question, without any cache: what it found before says nothing of what it finds now. */
  dns: Dns
  /** Called when a resolver that was believed is doubted. */
  onDoubt?: () => void
  /** ms of a clock that nobody sets; absent: `performance.now`. */
  now?: () => number
}

/**
 * Turns what was found of a recipient's domain into `doubted` where the resolver is.
 * @param returnPath the domain of the mail's return path, whose MX was there when the sending domain was verified
 */
export type Believed = (found: MxHosts, domain: string, returnPath: string) => Promise<MxHosts>

/**
 * Makes the function for all mail of a process. A domain that is not found, or has no server, is believed when the resolver finds
 * records of the domain that it found last, or of the mail's return path.
 */
export function createResolverDoubt(options: DoubtOptions): Believed {
  const { onDoubt, now = () => performance.now() } = options
  const dns = cachedDns(options.dns, {
    answerMs: KNOWN_MS,
    failureMs: KNOWN_MS,
    entriesMax: KNOWN_MAX,
    now,
  })
  let foundLast: string | null = null
  let provenUntil = Number.NEGATIVE_INFINITY
  let isDoubted = false
  let doubtedAt = Number.NEGATIVE_INFINITY

  const finds = async (domain: string) =>
    hasRecords(await findMxHosts(dns, domain, { ownNames: [], random: () => 0 }))

  async function isBelieved(returnPath: string): Promise<boolean> {
    if (now() < provenUntil) return true
    const isProven = (foundLast !== null && (await finds(foundLast))) || (await finds(returnPath))
    if (isProven) provenUntil = now() + KNOWN_MS
    else if (!isDoubted) onDoubt?.()
    isDoubted = !isProven
    if (isDoubted) doubtedAt = now()
    return isProven
  }

  return async (found, domain, returnPath) => {
    if (hasRecords(found)) foundLast = domain
    const isMissing = found.kind === 'unknown_domain' || found.kind === 'no_server'
    if (!isMissing) return found
    const isBelievedNow = await isBelieved(returnPath)
    // The answer may be of while it was doubted.
    const isOld = isBelievedNow && now() - doubtedAt < CACHED_MS && (await finds(domain))
    return isBelievedNow && !isOld ? found : { kind: 'doubted', error: found.error }
  }
}

/** Whether it shows that the resolver finds what there is: that a name has no record may be said of every name. */
const hasRecords = ({ kind }: MxHosts) =>
  kind === 'hosts' || kind === 'null_mx' || kind === 'no_host'
