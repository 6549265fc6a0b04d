// Suppresses an address permanently, by hand.

import { findSuppression, type SuppressionRow } from '../../db/suppressions/reads.ts'
import { upsertSuppression } from '../../db/suppressions/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

export interface SuppressInput {
  /** In lower case. */
  email: string
}

/** An address that is already suppressed permanently stays as it is, with its reason. */
export function suppressAddress(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { email }: SuppressInput,
): Promise<{ row: SuppressionRow; created: boolean }> {
  const at = deps.now()
  const wanted = { email, reason: 'manual', source_id: null, expires_at: null } as const
  return transact(deps, async ({ db }) => {
    const created = await upsertSuppression(db, workspaceId, wanted, at)
    const row = await findSuppression(db, workspaceId, email)
    // The upsert holds the row's lock, so nobody can have deleted it.
    if (!row) throw new Error('a suppression is gone that was just written')
    return { row, created }
  })
}
