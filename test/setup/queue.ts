// Fills the deliveries table with rows without emails, for tests of the queue.

import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

/** Queues deliveries over all shards, `everyMs` apart from `dueAt` on. */
export async function queueDeliveries(
  db: Db,
  queue: {
    workspaceId: WorkspaceId
    domainId: string
    count: number
    dueAt: Date
    expiresAt: Date
    everyMs?: number
  },
): Promise<void> {
  await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at,
      expires_at, created_at)
    select 'email_' || i, ${queue.workspaceId}, ${queue.domainId}, 'user' || i || '@d' || (i % 997) || '.test',
      i % 997 % 64, 'queued', ${queue.dueAt}::timestamptz + i * ${queue.everyMs ?? 0} * interval '1 ms',
      ${queue.expiresAt}, ${queue.dueAt}
    from generate_series(1, ${queue.count}::integer) i
  `.execute(db)
}
