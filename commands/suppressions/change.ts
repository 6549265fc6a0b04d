// Puts addresses on the suppression list of a workspace and takes them off, each in one transaction.

import type { ApiDeps } from '../../api/http/env.ts'
import { findSuppression, type SuppressionRow } from '../../db/suppressions/reads.ts'
import { deleteSuppression, upsertSuppression } from '../../db/suppressions/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

type Deps = Pick<ApiDeps, 'db' | 'now'>

/**
 * Suppresses an address (lower case) for good, by hand. One that is suppressed for good already stays as it is,
 * with its reason.
 */
export function suppress(
  { db, now }: Deps,
  workspaceId: WorkspaceId,
  email: string,
): Promise<{ row: SuppressionRow; created: boolean }> {
  const at = now()
  const wanted = { workspace_id: workspaceId, email, source_id: null, expires_at: null }
  return db.transaction().execute(async (trx) => {
    const created = await upsertSuppression(trx, { ...wanted, reason: 'manual' }, at)
    const row = await findSuppression(trx, workspaceId, email)
    // The upsert holds the row's lock: nobody can have deleted it.
    if (!row) throw new Error('a suppression is gone that was just written')
    return { row, created }
  })
}

/** @returns false when the address (lower case) was not suppressed */
export function unsuppress(
  { db, now }: Deps,
  workspaceId: WorkspaceId,
  email: string,
): Promise<boolean> {
  return db.transaction().execute((trx) => deleteSuppression(trx, workspaceId, email, now()))
}
