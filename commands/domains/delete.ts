// Deletes a sending domain.

import { updateDomainKeysRevoked } from '../../db/api-keys/writes.ts'
import { updateDomain } from '../../db/domains/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Refusal } from '../../rules/refusals.ts'
import type { RevokingDeps } from '../deps.ts'
import { withDomain } from './withDomain.ts'

/** Deletes a domain: its name is free at once, API keys for it are revoked, accepted mail is still sent. */
export function deleteDomain(
  deps: RevokingDeps,
  workspaceId: WorkspaceId,
  { id }: { id: string },
): Promise<undefined | Refusal<'domain_id_not_found'>> {
  return withDomain(deps, workspaceId, id, async ({ db, keysRevoked }, _domain, at) => {
    await updateDomain(db, workspaceId, id, { deleted_at: at })
    await updateDomainKeysRevoked(db, workspaceId, id, at)
    keysRevoked(workspaceId)
    return undefined
  })
}
