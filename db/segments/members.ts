// Who is in the kept segments: rows of members, and of contacts who may become one by time alone.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { isLiveAudience } from '../audiences/live.ts'
import type { Db, Trx } from '../connect.ts'
import type { Row } from '../schema.ts'

type MemberRow = Row<'segment_members'>

/** What is known of contacts and kept segments, of those that have a row. */
export function listMemberRows(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactIds: readonly string[],
  segmentIds: readonly string[],
): Promise<Omit<MemberRow, 'workspace_id'>[]> {
  return trx
    .selectFrom('segment_members')
    .select(['contact_id', 'segment_id', 'generation', 'is_member', 'next_look_at', 'looked_at'])
    .where('workspace_id', '=', workspaceId)
    .where('contact_id', 'in', contactIds)
    .where('segment_id', 'in', segmentIds)
    .execute()
}

/** What was found of a contact and a segment; without `isRow` it needs no row. */
export interface FoundMember {
  contact_id: string
  segment_id: string
  generation: number
  is_member: boolean
  /** ms */
  next_look_at: number | null
  /** ms; the clock by which it was found. */
  looked_at: number
  is_row: boolean
}

/** Writes rows, and deletes those that are needed no more. The caller holds the locks of the contacts. */
export async function writeMembers(
  trx: Trx,
  workspaceId: WorkspaceId,
  found: readonly FoundMember[],
): Promise<void> {
  if (found.length === 0) return
  const rows = found.map((row) => ({
    ...row,
    next_look_at: row.next_look_at === null ? null : new Date(row.next_look_at),
    looked_at: new Date(row.looked_at),
  }))
  await sql`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g (contact_id text,
        segment_id text, generation int, is_member boolean, next_look_at timestamptz(3),
        looked_at timestamptz(3), is_row boolean)
    ), gone as (
      delete from segment_members m using given g
      where not g.is_row and m.workspace_id = ${workspaceId}
        and m.contact_id = g.contact_id and m.segment_id = g.segment_id
    )
    insert into segment_members (contact_id, segment_id, workspace_id, generation, is_member, next_look_at,
      looked_at)
    select contact_id, segment_id, ${workspaceId}, generation, is_member, next_look_at, looked_at
    from given where is_row order by contact_id, segment_id
    on conflict (contact_id, segment_id) do update set generation = excluded.generation,
      is_member = excluded.is_member, next_look_at = excluded.next_look_at, looked_at = excluded.looked_at
  `.execute(trx)
}

/** A contact and segments in which time may have changed something. */
export interface DueLook {
  workspace_id: WorkspaceId
  contact_id: string
  segment_ids: string[]
}

/** Of one workspace in its turn, and the workspaces that one call gives a turn. */
const PER_TURN = 2
const TURNS_MAX = 50

/**
 * Takes rows of all workspaces whose look is due, until `until`: then they are due again, unless whoever has them wrote
 * when the next look is. Those that another worker takes at this moment are passed over.
 * @param asked `limit`: so many of those that are due longest; `after`: there were more than that, so workspaces take turns besides, from the
 *   one after this on; null: nothing of that is known
 * @returns `oldest`: how many of those that are due longest were taken; `after`: where the next turns begin
 */
export async function claimDueLooks(
  db: Db,
  asked: { now: Date; until: Date; limit: number; after?: string | null },
): Promise<{ looks: DueLook[]; oldest: number; after: string }> {
  const { now, until, limit, after = null } = asked
  // Planned at each call (it begins with a comment, so it gets no name): a plan for an empty table is slow for a long one.
  // A workspace is read in an order that the index of the turns alone has, and whether a row of a turn is still due is asked in a
  // form that no index has: else all that are due might be read.
  const { rows } = await sql<DueLook & { oldest: number; after: string | null }>`
    /* looks */ with recursive walk as (
      select ${after}::text collate "C" as workspace_id, 0 as n, '{}'::tid[] as found where ${after}::text is not null
      union all
      select f.workspace_id, w.n + 1, array(
          select d.ctid from segment_members d
          where d.workspace_id >= f.workspace_id and d.workspace_id <= f.workspace_id and d.next_look_at <= ${now}::timestamptz
          order by d.workspace_id, d.next_look_at limit ${PER_TURN}::int)
      from walk w cross join lateral (
        select d.workspace_id from segment_members d
        where d.workspace_id > w.workspace_id and d.next_look_at is not null
        order by d.workspace_id limit 1
      ) f
      where w.n < ${TURNS_MAX}::int
    ), oldest as materialized (
      select d.ctid as place from segment_members d where d.next_look_at <= ${now}::timestamptz
      order by d.next_look_at limit ${limit}::int for update skip locked
    ), turns as materialized (
      select d.ctid as place from segment_members d
      where d.ctid = any(array(select unnest(found) from walk)) and (d.next_look_at <= ${now}::timestamptz) is true
      for update skip locked
    ), taken as (
      update segment_members m set next_look_at = ${until}::timestamptz
      where m.ctid = any(array(select place from oldest union select place from turns))
      returning m.workspace_id, m.contact_id, m.segment_id
    )
    select workspace_id, contact_id, array_agg(segment_id order by segment_id) as segment_ids,
      (select count(*) from oldest)::int as oldest,
      (select w.workspace_id from walk w where w.n = ${TURNS_MAX}::int) as after
    from taken group by workspace_id, contact_id order by contact_id
  `.execute(db)
  const [first] = rows
  const looks = rows.map(({ oldest: _, after: __, ...look }) => look)
  return { looks, oldest: first?.oldest ?? 0, after: first?.after ?? '' }
}

/** Sets when looks that were taken are due again, because the contact could not be looked at. */
export async function putOffLooks(
  trx: Trx,
  workspaceId: WorkspaceId,
  { contact_id, segment_ids }: Omit<DueLook, 'workspace_id'>,
  until: Date,
): Promise<void> {
  await trx
    .updateTable('segment_members')
    .set({ next_look_at: until })
    .where('workspace_id', '=', workspaceId)
    .where('contact_id', '=', contact_id)
    .where('segment_id', 'in', segment_ids)
    .execute()
}

/** What conditions read of a contact of a page, beyond the row. */
interface PageFacts {
  contact_id: string
  /** ms, by name; of each the latest `eventTimesCountedMax`. */
  event_times: Record<string, number[]>
  audiences: string[]
  /** Whether something has looked at the contact since the segment began to be filled. */
  is_known: boolean
}

/** For locked contacts, in one statement. */
export async function listPageFacts(
  trx: Trx,
  workspaceId: WorkspaceId,
  contacts: readonly { id: string; email: string }[],
  segment: { id: string; generation: number; eventNames: string[]; audienceIds: string[] },
): Promise<Map<string, PageFacts>> {
  const { rows } = await sql<PageFacts>`
    select c.id as contact_id,
      coalesce((
        select json_object_agg(n.name, array(
          select (extract(epoch from a.at) * 1000)::float8 from automation_events a
          where a.workspace_id = ${workspaceId} and a.contact_id = c.id and a.event_name = n.name
          order by a.at desc limit ${limits.eventTimesCountedMax}))
        from unnest(${segment.eventNames}::text[]) as n (name)), '{}') as event_times,
      array(
        select m.audience_id from audience_contacts m
        where m.workspace_id = ${workspaceId} and m.email = c.email
          and m.audience_id = any(${segment.audienceIds}::text[])
          and ${isLiveAudience(sql`m.audience_id`)}) as audiences,
      exists (
        select from segment_members k where k.contact_id = c.id and k.segment_id = ${segment.id}
          and k.workspace_id = ${workspaceId} and k.generation = ${segment.generation}::int) as is_known
    from unnest(${contacts.map(({ id }) => id)}::text[], ${contacts.map(({ email }) => email)}::text[])
      as c (id, email)
  `.execute(trx)
  return new Map(rows.map((row) => [row.contact_id, row]))
}
