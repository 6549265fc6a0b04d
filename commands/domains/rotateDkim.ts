// Gives a sending domain another DKIM key: published first, used when its record was seen.

import { type DomainRow, findDomain, hasWaitingKey } from '../../db/domains/reads.ts'
import { insertDomainKey } from '../../db/domains/writes.ts'
import { generateDkimKey } from '../../mail/dkim/keys.ts'
import { isId, type WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { selectorOf } from './selector.ts'
import { reread, withDomain } from './withDomain.ts'

export interface RotateDkimInput {
  id: string
  algorithm: 'rsa' | 'ed25519'
}

/** Adds a key. One that still waits for its record is kept, and answers for the new one: asking twice makes one key. */
export async function rotateDkim(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { id, algorithm }: RotateDkimInput,
): Promise<DomainRow | Refusal<'domain_id_not_found'>> {
  const known = isId('domain', id) && (await findDomain(deps.db, workspaceId, id))
  if (!known) return refuse('domain_id_not_found', { id })
  // Made beforehand: it takes long, and the domain is locked from here on.
  const { publicKey, privateKey } = await generateDkimKey(algorithm)
  return withDomain(deps, workspaceId, id, async (inTrx, _domain, at) => {
    const { db, newId, secrets } = inTrx
    if (!(await hasWaitingKey(db, workspaceId, id, algorithm))) {
      const keyId = newId('domainKey')
      await insertDomainKey(db, workspaceId, {
        id: keyId,
        domain_id: id,
        selector: selectorOf(keyId),
        algorithm,
        public_key: publicKey,
        private_key: secrets.encrypt('dkim-key', privateKey),
        created_at: at,
        activated_at: null,
      })
    }
    return reread(inTrx, workspaceId, id)
  })
}
