// Suppresses an address permanently, by hand.

import { stopWaiting } from '../../db/deliveries/stop.ts'
import { findErasedSuppression } from '../../db/suppressions/erased.ts'
import { findSuppression, type SuppressionRow } from '../../db/suppressions/reads.ts'
import { upsertSuppression } from '../../db/suppressions/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

export interface SuppressInput {
  /** In lower case. */
  email: string
}

/**
 * Settles the mail that waits for the address in the same commit. An address that is already suppressed permanently
 * stays as it is, with its reason; one that was erased stays without its address.
 */
export function suppressAddress(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { email }: SuppressInput,
): Promise<{ row: SuppressionRow; created: boolean }> {
  const at = deps.now()
  const wanted = { email, reason: 'manual', source_id: null, expires_at: null } as const
  return transact(deps, async ({ db, addressMac }) => {
    await stopWaiting(db, workspaceId, { emails: [email] }, 'suppressed', at)
    const hmac = addressMac(workspaceId, email)
    const erased = await findErasedSuppression(db, workspaceId, hmac, at)
    if (erased?.expires_at === null) {
      return { row: { ...erased, workspace_id: workspaceId, email: null }, created: false }
    }
    const created = await upsertSuppression(db, workspaceId, wanted, at)
    const row = await findSuppression(db, workspaceId, email)
    // The upsert holds the row's lock, so nobody can have deleted it.
    if (!row) throw new Error('a suppression is gone that was just written')
    return { row, created }
  })
}
