// Writes segments of contacts, and which of them are kept.
import { sql } from 'kysely'
import type { Condition } from '../../rules/conditions/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'

/** Keeps others from changing what the workspace's segments name, and which are kept, until the transaction ends. */
export async function lockSegments(trx: Trx, workspaceId: WorkspaceId): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtextextended(${`segments:${workspaceId}`}, 0))
  `.execute(trx)
}

interface NewSegment {
  id: string
  name: string
  condition: Condition
  /** Segments that the condition names. */
  namedIds: string[]
  at: Date
}

export async function insertSegmentRow(
  trx: Trx,
  workspaceId: WorkspaceId,
  { id, name, condition, namedIds, at }: NewSegment,
): Promise<void> {
  await trx
    .insertInto('segments')
    .values({
      id,
      workspace_id: workspaceId,
      name,
      condition: JSON.stringify(condition),
      named_ids: namedIds,
      created_at: at,
      updated_at: at,
    })
    .execute()
}

/** The caller holds the lock of the workspace's segments. */
export async function updateSegmentRow(
  trx: Trx,
  workspaceId: WorkspaceId,
  { id, name, condition, namedIds, at }: NewSegment,
): Promise<void> {
  await trx
    .updateTable('segments')
    .set({ name, condition: JSON.stringify(condition), named_ids: namedIds, updated_at: at })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
}

/** Locks the row of a segment, before the fill that its caller ends: whoever changes a segment locks it and then begins the fill anew. */
export async function lockSegmentRow(
  trx: Trx,
  workspaceId: WorkspaceId,
  segmentId: string,
): Promise<void> {
  await trx
    .selectFrom('segments')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', segmentId)
    .forNoKeyUpdate()
    .execute()
}

export async function deleteSegmentRow(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<void> {
  await trx
    .deleteFrom('segments')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
}

/**
 * Has all members of a segment found anew, in pages, or forgotten where it is kept no more. What is known of its members counts for
 * nothing from now on. The caller holds the lock of the workspace's segments.
 * @param reads what its condition reads, that of those that it names included
 */
export async function startFill(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  { kept, reads }: { kept: boolean; reads: { eventNames: string[]; audienceIds: string[] } },
  at: Date,
): Promise<void> {
  await sql`
    with changed as (
      update segments set kept = ${kept}::boolean, filled = false, generation = generation + 1,
        event_names = ${reads.eventNames}::text[], audience_ids = ${reads.audienceIds}::text[]
      where workspace_id = ${workspaceId} and id = ${id}
      returning id, workspace_id, generation
    )
    insert into segment_fills (segment_id, workspace_id, generation, next_at)
    select id, workspace_id, generation, ${at}::timestamptz from changed
    on conflict (segment_id) do update set generation = excluded.generation, after_contact_id = '',
      fence = null, next_at = excluded.next_at
  `.execute(trx)
}

/** Whether segments are kept, and whether an active workflow begins at them; in the order of ids, and those alone that there are. */
export async function listKeeping(
  trx: Trx,
  workspaceId: WorkspaceId,
  ids: readonly string[],
  triggerNames: readonly string[],
): Promise<{ id: string; kept: boolean; wanted: boolean }[]> {
  const { rows } = await sql<{ id: string; kept: boolean; wanted: boolean }>`
    select s.id, s.kept, exists (
      select from workflow_triggers t
      where t.workspace_id = ${workspaceId} and t.event_name = any(${triggerNames}::text[])
        and t.about = s.id) as wanted
    from segments s where s.workspace_id = ${workspaceId} and s.id = any(${ids}::text[])
    order by s.id
  `.execute(trx)
  return rows
}

/** Kept segments that read an audience, by way of others too. */
export async function listKeptReading(
  trx: Trx,
  workspaceId: WorkspaceId,
  audienceId: string,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select s.id from segments s
    where s.workspace_id = ${workspaceId} and s.kept and ${audienceId} = any(s.audience_ids)
    order by s.id
  `.execute(trx)
  return rows.map(({ id }) => id)
}
