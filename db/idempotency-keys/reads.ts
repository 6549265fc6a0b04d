// Finds the answer that is kept for a request.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { Db } from '../connect.ts'

export interface KeptAnswer {
  status: number
  /** JSON without secrets; '' where the answer had no body. */
  body: string
  /** Of the request that was answered so. */
  fingerprint: Buffer
}

/** What was kept until then counts for nothing. By the clock of Postgres, which wrote when it was kept. */
export const keptSince = sql<Date>`clock_timestamp() - ${sql.lit(limits.idempotencyKeptMs)} * interval '1 ms'`

/** The answer that is kept for a key, if it is not too old. */
export function findKeptAnswer(
  db: Db,
  workspaceId: WorkspaceId,
  keyHash: Buffer,
): Promise<KeptAnswer | undefined> {
  return db
    .selectFrom('idempotency_keys')
    .select(['status', 'body', 'fingerprint'])
    .where('workspace_id', '=', workspaceId)
    .where('key_hash', '=', keyHash)
    .where('created_at', '>', keptSince)
    .executeTakeFirst()
}
