// Gives a sending domain another DKIM key: published first, used when its record was seen.

import type { ApiDeps } from '../../api/http/env.ts'
import { type DomainRow, findDomain, hasWaitingKey } from '../../db/domains/reads.ts'
import { insertDomainKey } from '../../db/domains/writes.ts'
import { generateDkimKey } from '../../mail/dkim/keys.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { domainNotFound, reread, withDomain } from './change.ts'

/**
 * Adds a key. One that still waits for its record is kept, and answers for the new one: asking twice makes one key.
 * @throws ApiError 404
 */
export async function rotateDkim(
  deps: Pick<ApiDeps, 'db' | 'now' | 'newId' | 'wake' | 'secrets'>,
  workspaceId: WorkspaceId,
  id: string,
  algorithm: 'rsa' | 'ed25519',
): Promise<DomainRow> {
  const { newId, secrets } = deps
  if (!(await findDomain(deps.db, workspaceId, id))) throw domainNotFound(id)
  // Made beforehand: it takes long, and the domain is locked from here on.
  const { publicKey, privateKey } = await generateDkimKey(algorithm)
  return withDomain(deps, workspaceId, id, async (trx, _domain, at) => {
    if (!(await hasWaitingKey(trx, id, algorithm))) {
      const keyId = newId('domainKey')
      await insertDomainKey(trx, {
        id: keyId,
        domain_id: id,
        workspace_id: workspaceId,
        selector: selectorOf(keyId),
        algorithm,
        public_key: publicKey,
        private_key: secrets.encrypt('dkim-key', privateKey),
        created_at: at,
        activated_at: null,
      })
    }
    return reread(trx, workspaceId, id)
  })
}

/** Two workspaces may register one name: their keys must not meet in DNS. @param id of the domain or of the key */
export function selectorOf(id: string): string {
  return `drip-${id.slice(-10).toLowerCase()}`
}
