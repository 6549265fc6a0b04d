// Finds the answer that is kept for a request.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'

export interface KeptAnswer {
  status: number
  /** JSON without secrets; '' where the answer had no body. */
  body: string
  /** Of the request that was answered so. */
  fingerprint: Buffer
}

/** @param asked older answers than `since` count for nothing */
export function findKeptAnswer(
  db: Db,
  workspaceId: WorkspaceId,
  { keyHash, since }: { keyHash: Buffer; since: Date },
): Promise<KeptAnswer | undefined> {
  return db
    .selectFrom('idempotency_keys')
    .select(['status', 'body', 'fingerprint'])
    .where('workspace_id', '=', workspaceId)
    .where('key_hash', '=', keyHash)
    .where('created_at', '>', since)
    .executeTakeFirst()
}
