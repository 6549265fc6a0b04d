// Writes limits, and gives out the places of a day.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'
import type { LimitRow } from './reads.ts'

type Values = Pick<LimitRow, 'per_second' | 'burst' | 'emails_per_day'>

/** A limit that is set, locked; undefined if none is. */
export function lockLimit(
  trx: Trx,
  workspaceId: WorkspaceId,
  subject: string,
): Promise<Values | undefined> {
  return trx
    .selectFrom('rate_limits')
    .select(['per_second', 'burst', 'emails_per_day'])
    .where('workspace_id', '=', workspaceId)
    .where('subject', '=', subject)
    .forUpdate()
    .executeTakeFirst()
}

/** Sets the limits of a subject. Tells every API process when this commits. */
export async function upsertLimit(
  trx: Trx,
  workspaceId: WorkspaceId,
  subject: string,
  values: Values,
  now: Date,
): Promise<void> {
  const set = { ...values, updated_at: now }
  await trx
    .insertInto('rate_limits')
    .values({ subject, workspace_id: workspaceId, ...set })
    .onConflict((oc) => oc.column('subject').doUpdateSet(set))
    .execute()
  await tellChanged(trx)
}

/** Removes the limits of a subject. Tells every API process when this commits. */
export async function deleteLimit(
  trx: Trx,
  workspaceId: WorkspaceId,
  subject: string,
): Promise<void> {
  await trx
    .deleteFrom('rate_limits')
    .where('workspace_id', '=', workspaceId)
    .where('subject', '=', subject)
    .execute()
  await tellChanged(trx)
}

/** Processes that remember keys listen there, and read limits again too. */
async function tellChanged(trx: Trx): Promise<void> {
  await sql`notify dripline_api_keys`.execute(trx)
}

/** At this part of its day a workspace is told that its limit is near. */
const NEAR = 0.8

/**
 * Notes that a workspace is near the limit of its day, if what it has taken is four fifths of it and nothing is noted yet: for a limit that was
 * lowered.
 */
export async function noteNearLimit(
  trx: Trx,
  workspaceId: WorkspaceId,
  { day, limit }: { day: string; limit: number },
): Promise<void> {
  if (limit === 0) return
  await sql`
    update email_days set near_limit = ${limit}::int
    where subject = ${workspaceId} and workspace_id = ${workspaceId} and day = ${day}::date
      and near_limit is null and emails >= ${limit}::int * ${NEAR}::numeric
  `.execute(trx)
}

/** What one process asks of a subject's day. */
interface PlacesAsked {
  subject: string
  day: string
  limit: number
  wanted: number
  /** Whether fewer than are wanted are of no use: then none are given where the day has fewer. */
  all: boolean
}

/** How many places one process takes at most beyond what it needs now. */
const BLOCK_MAX = 1_000
/** Of what a day has left one process takes so much: 1/100. */
const BLOCK_OF = 100

/**
 * Gives out places of a day, in one statement that commits at once: as many as are wanted, or a hundredth of what the day
 * has left if that is more, so that the row is written for each hundredth and not for each email. The days of the
 * subject that are over for a week are deleted. The first that reaches four fifths of a workspace's day, or finds that it has
 * taken as much, notes it in the row, and so a trigger tells webhooks, in the same commit: once a day, of however many processes.
 * @param db no transaction: what a process was given must stay given, and the row must not stay locked
 * @returns how many; 0 when the day has none left, or with `all` fewer than are wanted
 */
export async function takeDayPlaces(
  db: Db,
  workspaceId: WorkspaceId,
  { subject, day, limit, wanted, all }: PlacesAsked,
): Promise<number> {
  const isEnough = (left: ReturnType<typeof sql>) =>
    sql`(not ${all}::boolean or ${left} >= ${wanted}::int)`
  const given = (left: ReturnType<typeof sql>) =>
    sql`case when ${isEnough(left)} then greatest(0, least(${left},
      greatest(${wanted}::int, least(${BLOCK_MAX}::int, ${left} / ${BLOCK_OF}::int)))) else 0 end`
  const ofWorkspace = subject === workspaceId
  const nearAt = (emails: ReturnType<typeof sql>) =>
    sql`case when ${ofWorkspace}::boolean and ${limit}::int > 0 and ${emails} >= ${limit}::int * ${NEAR}::numeric
      then ${limit}::int end`
  const first = given(sql`${limit}::int`)
  const further = given(sql`(${limit}::int - d.emails)`)
  const { rows } = await sql<{ granted: number }>`
    with past as (
      delete from email_days
      where workspace_id = ${workspaceId} and subject = ${subject} and day < ${day}::date - 7
    )
    insert into email_days as d (subject, workspace_id, day, emails, granted, near_limit)
    select ${subject}::text, ${workspaceId}::text, ${day}::date, ${first}, ${first}, ${nearAt(first)}
    on conflict (subject, day) do update
    set granted = ${further}, emails = d.emails + ${further},
      near_limit = coalesce(d.near_limit, ${nearAt(sql`(d.emails + ${further})`)})
    where (d.emails < ${limit}::int and ${isEnough(sql`(${limit}::int - d.emails)`)}) or (d.near_limit is null and ${nearAt(sql`d.emails`)} is not null)
    returning granted
  `.execute(db)
  return rows[0]?.granted ?? 0
}
