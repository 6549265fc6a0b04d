// Remembers the domains that mail was sent from, so that the next email of each is made without asking: its commit looks whether they are still so.
import { LRUCache } from 'lru-cache'
import type { SendingDomain } from '../../db/domains/sending.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

/** Of all workspaces. From one that is forgotten the next email costs a round trip more. */
const DOMAINS_MAX = 10_000
/**
 * Emails that are made by asking after a commit was refused; after each further one in a row they are twice as many, up to the most. Where most
 * recipients are automation contacts nearly every try would be in vain.
 */
const ASKED_MIN = 8
const ASKED_MAX = 256

/** How often a domain was tried in vain. */
interface Tries {
  /** Commits in a row that were refused. */
  refused: number
  /** Emails that are still to be made by asking. */
  toAsk: number
}

export interface KnownDomain {
  readonly domain: SendingDomain
  readonly tries: Tries
}

export type KnownDomains = ReturnType<typeof createKnownDomains>

/** Makes the memory of a process. */
export function createKnownDomains() {
  const known = new LRUCache<string, KnownDomain>({ max: DOMAINS_MAX })
  const keyOf = (workspaceId: WorkspaceId, name: string) => `${workspaceId} ${name}`
  return {
    /** The domain by which an email may be made; null: it is to be asked for. */
    find(workspaceId: WorkspaceId, name: string): KnownDomain | null {
      const found = known.get(keyOf(workspaceId, name))
      if (!found) return null
      if (found.tries.toAsk === 0) return found
      found.tries.toAsk -= 1
      return null
    },
    /** Remembers a domain as it was read. */
    remember(workspaceId: WorkspaceId, name: string, domain: SendingDomain): void {
      const key = keyOf(workspaceId, name)
      const { tries } = known.get(key) ?? { tries: { refused: 0, toAsk: 0 } }
      known.set(key, { domain, tries })
    },
  }
}

/** Notes whether emails were committed that had been made by known domains. */
export function noteTried(tried: readonly KnownDomain[], isWritten: boolean): void {
  for (const tries of new Set(tried.map((one) => one.tries))) {
    if (!isWritten) tries.toAsk = Math.min(ASKED_MIN * 2 ** tries.refused, ASKED_MAX)
    tries.refused = isWritten ? 0 : tries.refused + 1
  }
}
