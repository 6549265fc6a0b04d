// Sets limits as an operator does.
import { type LimitChange, setLimit } from '../../commands/limits/set.ts'
import type { Db } from '../../db/connect.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

/** Changes the limits of the workspace, or of one of its keys. */
export const limitTo = (
  db: Db,
  workspaceId: WorkspaceId,
  change: LimitChange,
  keyId?: string,
): Promise<void> =>
  setLimit({ db, now: () => new Date(), wake: () => undefined }, workspaceId, {
    subject: keyId ?? workspaceId,
    change,
  })

/** No limit any more. */
export const off: LimitChange = { perSecond: null, burst: null, emailsPerDay: null }
