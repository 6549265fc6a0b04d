// A cache of the DKIM keys of sending domains. Which keys sign an email depends on when it was accepted.
import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type DomainSigner, listDomainSigners } from '../../db/domains/signers.ts'
import { loadKey } from '../../mail/dkim/keys.ts'
import { signingKey } from '../../rules/mail/domainSchedule.ts'
import { createBatcher } from '../../runtime/batcher.ts'
import type { DeliveryDeps } from '../deps.ts'

const LOAD_MAX = 100
/**
 * A rotation takes effect here within this time. Mail that was accepted before it is signed with the old key
 * anyway.
 */
const KEEP_MS = 2_000
const KEYS_MAX = 1000
const DOMAINS_MAX = 1000

interface KnownSigner {
  at: number
  signer: Promise<DomainSigner | undefined>
}

export interface SigningKey {
  selector: string
  key: KeyObject
}

/**
 * Makes a function that finds a domain's name and the keys that sign an email of that time: one RSA key, and an
 * ed25519 key if the domain has one. Every attempt gets the same keys, so that its bytes are the same.
 * @throws Error when the domain has no key
 */
export function createSigners({ db, secrets, now }: Pick<DeliveryDeps, 'db' | 'secrets' | 'now'>) {
  const keys = new LRUCache<string, KeyObject>({ max: KEYS_MAX })
  const known = new LRUCache<string, KnownSigner>({ max: DOMAINS_MAX })

  const load = createBatcher(async (ids: string[]) => {
    const found = new Map((await listDomainSigners(db, ids)).map((row) => [row.id, row]))
    return ids.map((id) => found.get(id))
  }, LOAD_MAX)

  /** Decrypted keys stay in the cache, because a key never changes. */
  const keyOf = (domainId: string, { selector, private_key }: DomainSigner['keys'][number]) => {
    const name = `${domainId} ${selector}`
    const ready = keys.get(name)
    if (ready) return ready
    const key = loadKey(secrets.decrypt('dkim-key', private_key))
    keys.set(name, key)
    return key
  }

  const signerOf = (id: string): Promise<DomainSigner | undefined> => {
    const time = now().getTime()
    const kept = known.get(id)
    if (kept && time - kept.at < KEEP_MS) return kept.signer
    const signer = load(id)
    known.set(id, { at: time, signer })
    signer.catch(() => known.delete(id))
    return signer
  }

  return async (domainId: string, acceptedAt: Date) => {
    const signer = await signerOf(domainId)
    if (!signer) throw new Error(`domain ${domainId} has no key`)
    const chosen = (['rsa', 'ed25519'] as const).flatMap((algorithm) => {
      const active = signingKey(signer.keys, algorithm, acceptedAt)
      if (active) return active
      // Every message needs an RSA signature, so an RSA key is used even before its time. An ed25519 signature is
      // optional.
      if (algorithm !== 'rsa') return []
      return signer.keys.find((key) => key.algorithm === algorithm) ?? []
    })
    const ready = chosen.map(
      (key): SigningKey => ({ selector: key.selector, key: keyOf(domainId, key) }),
    )
    return { domain: signer.name, keys: ready }
  }
}
