// Remembers since when domains of recipients are missing in the DNS. Only who had such a domain for a day, while the
// resolver found others, is suppressed: registrars, name servers and resolvers fail for hours.
import { LRUCache } from 'lru-cache'
import { transact } from '../commands/transact.ts'
import { listMissingDomains } from '../db/recipient-domains/reads.ts'
import { updateFoundDomains, upsertMissingDomains } from '../db/recipient-domains/writes.ts'
import type { Trace } from '../mail/transport.ts'
import { limits } from '../rules/limits.ts'
import { missedAgain } from '../rules/mail/recipientDomains.ts'
import { createBatcher } from '../runtime/batcher.ts'
import type { DeliveryDeps } from './deps.ts'

const REMEMBERED_MAX = 10_000
/**
 * How long it is remembered that a domain is not found, or is found. Then it is asked, or written, once more, because
 * another lane may have noted something else meanwhile. Of a domain that was always found nothing is written.
 */
const REMEMBERED_MS = 60_000
/** The resolver is believed for so long after it has found another domain. */
const RESOLVES_MS = 10 * 60_000
const GROUP_MAX = 500

type Deps = Pick<DeliveryDeps, 'db' | 'now' | 'wake' | 'log'>

interface Known {
  /** null: it is found. */
  since: Date | null
  until: number
}

/**
 * Makes a function that takes an attempt to a domain and says whether the domain is gone: missing in the DNS now and since
 * a day (`missedAgain`). A resolver is believed only within ten minutes after it has found another domain: what it says at
 * other times is not noted. Any answer by which the domain exists, also without a server, ends that. It never throws; while
 * the database is away no domain is gone. It asks Postgres when a domain is new to it or has changed, not for each mail.
 */
export function createMissingDomains(deps: Deps) {
  const { now, log } = deps
  const known = new LRUCache<string, Known>({ max: REMEMBERED_MAX })
  /** The last two domains whose servers were met, and when: one of them is another than the domain in question. */
  const met = new LRUCache<string, number>({ max: 2 })

  const note = createNotes(deps)

  const remembered = (domain: string) => {
    const found = known.get(domain)
    return found && found.until > now().getTime() ? found : undefined
  }
  const remember = (domain: string, since: Date | null) =>
    known.set(domain, { since, until: now().getTime() + REMEMBERED_MS })
  const forget = (domain: string) => (err: unknown) => {
    known.delete(domain)
    log.warn({ err }, 'whether the domain of a recipient exists was not noted')
    return null
  }

  async function missingSince(domain: string): Promise<Date | null> {
    const before = remembered(domain)?.since
    if (before) return before
    const since = await note.missing(domain).catch(forget(domain))
    if (since !== null) remember(domain, since)
    return since
  }

  function found(domain: string): void {
    if (remembered(domain)?.since === null) return
    remember(domain, null)
    void note.found(domain).catch(forget(domain))
  }

  const resolvesOthers = (domain: string) =>
    [...met].some(([other, at]) => other !== domain && at + RESOLVES_MS >= now().getTime())

  return async (domain: string, trace: Trace): Promise<boolean> => {
    if (trace.host !== null) met.set(domain, now().getTime())
    if (trace.domainExists) found(domain)
    if (trace.domainExists !== false || !resolvesOthers(domain)) return false
    const since = await missingSince(domain)
    return since !== null && now().getTime() - since.getTime() >= limits.missingDomainAfter_ms
  }
}

/** Makes the functions that write it; domains that come at the same time share a statement. */
function createNotes(deps: Deps) {
  const { now } = deps
  return {
    /** @returns since when the domain is not found */
    missing: createBatcher(async (domains: string[]) => {
      const asked = [...new Set(domains)]
      const before = await listMissingDomains(deps.db, asked)
      const time = now()
      const after = new Map(asked.map((domain) => [domain, missedAgain(before.get(domain), time)]))
      const changed = [...after].filter(([domain, missing]) => missing !== before.get(domain))
      if (changed.length > 0) {
        const missing = changed.map(([domain, times]) => ({ domain, ...times }))
        await transact.one(deps, ({ db }) => upsertMissingDomains(db, missing))
      }
      return domains.map((domain) => after.get(domain)?.since ?? time)
    }, GROUP_MAX),
    found: createBatcher(async (domains: string[]) => {
      await transact.one(deps, ({ db }) => updateFoundDomains(db, [...new Set(domains)], now()))
      return domains
    }, GROUP_MAX),
  }
}
