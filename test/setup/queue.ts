// Fills the deliveries table with rows without emails, for tests of the queue, and asks for them as a lane does.

import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'
import { type ExpiredLease, listExpiredLeases, type NotePlace } from '../../db/deliveries/leases.ts'
import type { ShardRange } from '../../db/deliveries/lines.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { LaneAsked } from './claims.ts'

/** Queues deliveries over all shards, to one destination, `everyMs` apart from `dueAt` on. */
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
      expires_at, created_at, destination)
    select 'email_' || i, ${queue.workspaceId}, ${queue.domainId}, 'user' || i || '@d' || (i % 997) || '.test',
      i % 997 % 64, 'queued', ${queue.dueAt}::timestamptz + i * ${queue.everyMs ?? 0} * interval '1 ms',
      ${queue.expiresAt}, ${queue.dueAt}, 'd.test'
    from generate_series(1, ${queue.count}::integer) i
  `.execute(db)
}

/** From which domains mail may be sent, as processes know it by default. */
export const rights = { allowUnverifiedDomains: false, simulatorDomain: 'simulator.test' }

/** Ends leases now, as if nobody had extended them. */
export async function endLeases(db: Db, ids: readonly number[]): Promise<void> {
  await sql`
    update delivery_claims set until = now() - interval '1 second' where ids && ${[...ids]}::bigint[]
  `.execute(db)
  await sql`
    update deliveries set lease_until = now() - interval '1 second' where id = any(${[...ids]}::bigint[])
  `.execute(db)
}

/** All deliveries of some shards whose lease has ended, as a lane finds them. */
export async function expiredLeases(db: Db, shards: ShardRange): Promise<ExpiredLease[]> {
  const found: ExpiredLease[] = []
  let after: NotePlace | undefined
  do {
    const { leases, next } = await listExpiredLeases(db, shards, after)
    found.push(...leases)
    after = next ?? undefined
  } while (after)
  return found
}

const HOUR_MS = 3_600_000

/** What a claim asks that takes whatever is due, wherever it stands. */
export const allLines = (limit: number, shards = { from: 0, to: 64 }) => ({
  shards,
  limit,
  rooms: { known: new Map<string, number>(), other: Number.POSITIVE_INFINITY },
})

/** Deliveries that are due at a time, and claims of an hour later over all shards. */
export function queueAt(db: Db, due: Date) {
  const after = (ms: number) => new Date(due.getTime() + ms)
  return {
    after,
    queue: (count: number, over: { dueAt?: Date; everyMs?: number } = {}) =>
      queueDeliveries(db, {
        workspaceId: 'ws_1' as WorkspaceId,
        domainId: 'dom_1',
        count,
        dueAt: due,
        expiresAt: after(24 * HOUR_MS),
        ...over,
      }),
    claimOf: (over: Partial<LaneAsked> = {}): LaneAsked => ({
      ...allLines(100),
      leaseToken: '00000000-0000-0000-0000-000000000001',
      leaseMs: 60_000,
      now: after(HOUR_MS),
      ...over,
    }),
  }
}
