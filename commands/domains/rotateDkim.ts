// Gives a sending domain another DKIM key. It signs only after its DNS record was seen.

import { type DomainRow, findDomain, hasWaitingKey } from '../../db/domains/reads.ts'
import { insertDomainKey } from '../../db/domains/writes.ts'
import { generateDkimKey } from '../../mail/dkim/keys.ts'
import { isId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { selectorOf } from './selector.ts'
import { tellOfDomain } from './tell.ts'
import { reread, withDomain } from './withDomain.ts'

export interface RotateDkimInput {
  id: string
  algorithm: 'rsa' | 'ed25519'
}

/**
 * Adds a key. If a key of that algorithm still waits for its record, no other is made, so a repeated request is
 * harmless.
 */
export async function rotateDkim(
  deps: CommandDeps,
  reach: Reach,
  { id, algorithm }: RotateDkimInput,
): Promise<DomainRow | Refusal<'domain_id_not_found'>> {
  const known = isId('domain', id) && (await findDomain(deps.db, reach, id))
  if (!known) return refuse('domain_id_not_found', { id })
  // To make a key takes long: none is made for nothing, and none while the domain is locked.
  if (await hasWaitingKey(deps.db, reach.workspaceId, id, algorithm)) return known
  const { publicKey, privateKey } = await generateDkimKey(algorithm)
  return withDomain(deps, reach, id, async (inTrx, _domain, at) => {
    const { db, newId, secrets } = inTrx
    if (!(await hasWaitingKey(db, reach.workspaceId, id, algorithm))) {
      const keyId = newId('domainKey')
      await insertDomainKey(db, reach.workspaceId, {
        id: keyId,
        domain_id: id,
        selector: selectorOf(keyId),
        algorithm,
        public_key: publicKey,
        private_key: secrets.encrypt('dkim-key', privateKey),
        created_at: at,
        activated_at: null,
      })
      await tellOfDomain(inTrx, reach.workspaceId, id, 'updated')
    }
    return reread(inTrx, reach, id)
  })
}
