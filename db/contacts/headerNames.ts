// Finds and blanks mail that went to others alone and names an erased contact in its header: as a recipient, in mail that was submitted by SMTP,
// whose client had sent it to them by another one, or as whom to answer. It is found by the table `header_names` and by the first address of
// `reply_to` (migration 64).
import { type RawBuilder, sql } from 'kysely'
import { firstIdAt, type WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { addressIn, blankContents } from './blank.ts'
import type { Erased } from './erase.ts'

/** A mail whose header names the contact, and which went to others alone. */
export interface NamingMail {
  email_id: string
  /** Whether it has ended for all of its recipients, so that its content goes too. */
  has_ended: boolean
  /** As of `BlankedMail`. */
  is_of_team: boolean
}

type Whom = Pick<Erased, 'contactId' | 'email' | 'deliveryId' | 'at'>

/** A process whose clock is ahead makes ids of later. Mail with the same header may go on for ever, and is read up to here. */
const CLOCK_AHEAD_MS = 3_600_000

/**
 * Ids of emails that name the address, behind one, in their order, and perhaps some of after the erasure.
 * @param limit an expression; null: all of them
 */
const named = (
  workspaceId: WorkspaceId,
  { email, at }: Whom,
  { after, limit }: { after: string; limit: RawBuilder<unknown> },
) => {
  const until = firstIdAt('email', at.getTime() + CLOCK_AHEAD_MS)
  return sql`
      select email_id from (
        (select h.email_id from header_names h where h.workspace_id = ${workspaceId} and h.hash = hashtextextended(${email}, 0)
          and h.email_id > ${after}::text and h.email_id < ${until}::text order by h.email_id limit ${limit})
        union
        (select m.id from emails m where m.workspace_id = ${workspaceId} and m.reply_to <> '{}'
          and lower(${addressIn(sql`m.reply_to[1]`)}) = ${email}
          and m.id > ${after}::text and m.id < ${until}::text order by m.id limit ${limit})
      ) by_either order by email_id limit ${limit}`
}

/** What has become of the deliveries `o` of an email `n`. */
const outcome = sql`(
      select coalesce(bool_and(d.settled_at is not null), true) as has_ended,
        coalesce(bool_or(d.settled_at is null and not d.scheduled), false) as is_under_way,
        coalesce(min(d.id), 0) as first_id
      from deliveries d where d.email_id = n.email_id) o`

/** Of an email `n`: what was sent after the erasure stays. */
const isMeant = ({ deliveryId }: Whom) => sql`o.first_id <= ${deliveryId}::bigint`

/** Whether the contact's own execution has sent an email `n`, so that all of it is about them. */
const isOfTeam = (workspaceId: WorkspaceId, { contactId }: Whom) => sql`exists (
      select from emails m join executions x on x.id = m.execution_id
      where m.id = n.email_id and x.workspace_id = ${workspaceId} and x.contact_id = ${contactId})`

/** Mail that is under way to others is left for later, unless it is scheduled. @param waits false: it is not left */
const isReady = (waits: boolean) => sql`(not o.is_under_way or ${!waits}::boolean)`

const ALL_OF_IT = { after: '', limit: sql`null` }

/**
 * The mail behind a place that is to be blanked, and the next place, in the order of ids. What is under way is passed over.
 * @param after '' begins
 * @param limit mails that are read
 * @returns `next`: null after the last page
 */
export async function walkNamingMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: Whom,
  { after, waits, limit }: { after: string; waits: boolean; limit: number },
): Promise<{ mails: NamingMail[]; next: string | null }> {
  const { rows } = await sql<NamingMail & { to_blank: boolean }>`
    select n.email_id, o.has_ended, ${isOfTeam(workspaceId, whom)} as is_of_team, ${isMeant(whom)} and ${isReady(waits)} as to_blank
    from (${named(workspaceId, whom, { after, limit: sql`${limit}` })}) n cross join lateral ${outcome}
    order by n.email_id`.execute(trx)
  return {
    mails: rows.flatMap(({ to_blank, ...mail }) => (to_blank ? mail : [])),
    next: rows.length === limit ? (rows.at(-1)?.email_id ?? null) : null,
  }
}

/** The next of it that is to be blanked. It reads all that is left: `walkNamingMail` comes first, and this one finds what that has passed over. */
export async function listNamingMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: Whom,
  { waits, limit }: { waits: boolean; limit: number },
): Promise<NamingMail[]> {
  const { rows } = await sql<NamingMail>`
    select n.email_id, o.has_ended, ${isOfTeam(workspaceId, whom)} as is_of_team
    from (${named(workspaceId, whom, ALL_OF_IT)}) n cross join lateral ${outcome}
    where ${isMeant(whom)} and ${isReady(waits)}
    order by n.email_id limit ${limit}`.execute(trx)
  return rows
}

/** Whether mail that names the address is left, under way or not. */
export async function hasNamingMailLeft(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: Whom,
): Promise<boolean> {
  const { rows } = await sql`
    select 1 from (${named(workspaceId, whom, ALL_OF_IT)}) n cross join lateral ${outcome}
    where ${isMeant(whom)} limit 1`.execute(trx)
  return rows.length > 0
}

/**
 * Blanks mail that names the address as mail to several, of whom the contact was one, and forgets that it did. The caller holds the tracking
 * lock of each mail, and its deliveries.
 */
export async function blankNamingMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  email: string,
  mails: readonly NamingMail[],
): Promise<void> {
  if (mails.length === 0) return
  await blankContents(
    trx,
    workspaceId,
    email,
    mails.map((mail) => ({ ...mail, is_shared: true })),
  )
  await sql`
    delete from header_names where workspace_id = ${workspaceId} and hash = hashtextextended(${email}, 0)
      and email_id = any(${mails.map((mail) => mail.email_id)}::text[])`.execute(trx)
}
