// The filling of kept segments, and the forgetting of members that nobody asks for any more: how far each is.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'
import type { Row } from '../schema.ts'

export type FillRow = Row<'segment_fills'>

/** A fill that a worker has taken, and whether every transaction has ended that may not know yet that the segment is kept. */
export type TakenFill = FillRow & { is_clear: boolean }

/**
 * Takes a fill of any workspace that is due, until `until`. Those that another worker takes at this moment are passed over. Its fence is the
 * id of the first taking: whoever has read before that the segment is not kept has the lock of a contact, so an id, and a smaller one
 * (the end of a snapshot would not do: it leaves out the newest that still run). What runs in other databases of the cluster is
 * nobody of ours, nor is autovacuum, which has no user. A fence from the cluster that a backup was taken of may lie ahead of every
 * transaction, so it is set again.
 */
export async function claimFill(
  db: Db,
  { now, until }: { now: Date; until: Date },
): Promise<TakenFill | undefined> {
  const { rows } = await sql<TakenFill>`
    update segment_fills f set next_at = ${until}::timestamptz,
      fence = case
        when f.fence is null or f.fence > pg_current_xact_id() then pg_current_xact_id()
        else f.fence end
    where f.segment_id = (
      select segment_id from segment_fills where next_at <= ${now}::timestamptz
      order by next_at limit 1 for update skip locked)
    returning f.segment_id, f.workspace_id, f.generation, f.after_contact_id, f.fence, f.next_at,
      not exists (
        select from pg_locks l join pg_stat_activity a on a.pid = l.pid
        where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock'
          and a.datname = current_database() and a.usesysid is not null
          and age(l.transactionid) > age(f.fence::xid)) as is_clear
  `.execute(db)
  return rows[0]
}

/** Locks a fill, after the contacts of its page. */
export function lockFill(
  trx: Trx,
  workspaceId: WorkspaceId,
  segmentId: string,
): Promise<FillRow | undefined> {
  return trx
    .selectFrom('segment_fills')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('segment_id', '=', segmentId)
    .forUpdate()
    .executeTakeFirst()
}

/** Moves a fill on. */
export async function updateFill(
  trx: Trx,
  workspaceId: WorkspaceId,
  segmentId: string,
  progress: Partial<Pick<FillRow, 'after_contact_id' | 'next_at'>>,
): Promise<void> {
  await trx
    .updateTable('segment_fills')
    .set(progress)
    .where('workspace_id', '=', workspaceId)
    .where('segment_id', '=', segmentId)
    .execute()
}

/** Makes a fill due, unless another worker has moved it on, or it has begun anew. */
export async function giveBackFill(
  db: Db,
  workspaceId: WorkspaceId,
  fill: { segmentId: string; generation: number; after_contact_id: string; at: Date },
): Promise<void> {
  await db
    .updateTable('segment_fills')
    .set({ next_at: fill.at })
    .where('workspace_id', '=', workspaceId)
    .where('segment_id', '=', fill.segmentId)
    .where('generation', '=', fill.generation)
    .where('after_contact_id', '=', fill.after_contact_id)
    .execute()
}

/** Ends a locked fill. @param filled whether the segment has all its members now */
export async function endFill(
  trx: Trx,
  workspaceId: WorkspaceId,
  segmentId: string,
  filled: boolean,
): Promise<void> {
  await trx
    .deleteFrom('segment_fills')
    .where('workspace_id', '=', workspaceId)
    .where('segment_id', '=', segmentId)
    .execute()
  if (!filled) return
  await trx
    .updateTable('segments')
    .set({ filled: true })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', segmentId)
    .execute()
}

/** Contacts of a page, in the order of ids. */
export async function listContactIds(
  db: Db,
  workspaceId: WorkspaceId,
  page: { after: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('contacts')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** Deletes what is known of a segment and these contacts. */
export async function deleteMembers(
  trx: Trx,
  workspaceId: WorkspaceId,
  segmentId: string,
  contactIds: readonly string[],
): Promise<void> {
  await trx
    .deleteFrom('segment_members')
    .where('workspace_id', '=', workspaceId)
    .where('segment_id', '=', segmentId)
    .where('contact_id', 'in', contactIds)
    .execute()
}
