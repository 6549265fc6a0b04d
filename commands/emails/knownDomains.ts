// Remembers the domains that mail was sent from, so that the next email of each is made without asking: its commit looks whether they are still so.
import { LRUCache } from 'lru-cache'
import type { SendingDomain } from '../../db/domains/sending.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

/** Of all workspaces. From one that is forgotten the next email costs a round trip more. */
const DOMAINS_MAX = 10_000
/**
 * Emails of a domain that ask after a commit wrote nothing, twice as many after each further one in a row, up to the most, and at least as many as
 * were in its group: where most recipients are automation contacts nearly every try would be in vain.
 */
const ASKS_MIN = 8
const ASKS_MAX = 256

interface Backoff {
  /** Groups in a row that were not committed; smaller ones in between that were do not count. */
  inVain: number
  /** Emails of the last one. */
  size: number
  /** Emails that still ask before the domain is tried again. */
  asksLeft: number
}

/** A domain as it was read, and how emails that were made by it have fared. */
export interface KnownDomain {
  readonly domain: SendingDomain
  readonly backoff: Backoff
}

export type KnownDomains = ReturnType<typeof createKnownDomains>

/** Makes the memory of a process. */
export function createKnownDomains() {
  const domains = new LRUCache<string, KnownDomain>({ max: DOMAINS_MAX })
  const keyOf = (workspaceId: WorkspaceId, name: string) => `${workspaceId} ${name}`
  return {
    /** The domain by which an email may be made; null: it asks. To be called once for each email: each call counts as one that asks. */
    take(workspaceId: WorkspaceId, name: string): KnownDomain | null {
      const known = domains.get(keyOf(workspaceId, name))
      if (!known) return null
      if (known.backoff.asksLeft === 0) return known
      known.backoff.asksLeft -= 1
      return null
    },
    /** Remembers a domain as it was read. Its back-off stays. */
    remember(workspaceId: WorkspaceId, name: string, domain: SendingDomain): void {
      const key = keyOf(workspaceId, name)
      const { backoff } = domains.get(key) ?? { backoff: { inVain: 0, size: 0, asksLeft: 0 } }
      domains.set(key, { domain, backoff })
    },
  }
}

/**
 * Notes whether a group of emails was committed. All of its domains are charged: the statement does not say by which it wrote nothing. Groups
 * that were under way together are charged once.
 */
export function noteTried(tried: readonly KnownDomain[], isWritten: boolean): void {
  for (const backoff of new Set(tried.map((one) => one.backoff))) {
    if (isWritten) {
      // One email by itself seldom meets a contact, where a large group nearly always does.
      if (tried.length >= backoff.size) backoff.inVain = 0
    } else if (backoff.asksLeft === 0) {
      backoff.asksLeft = Math.max(tried.length, Math.min(ASKS_MIN * 2 ** backoff.inVain, ASKS_MAX))
      backoff.inVain += 1
      backoff.size = tried.length
    }
  }
}
