// Finds and blanks mail that went to others alone and names an erased contact in its header: as a recipient, in mail that was submitted by SMTP,
// whose client had sent it to them by another one, or as whom to answer. It is found by the table `header_names` (migrations 62 to 64) and by the
// first address of `reply_to` (the index of migration 64).
import { type RawBuilder, sql } from 'kysely'
import { firstIdAt, type WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { addressIn, blankContents, type ErasedAddress, isNamed } from './blank.ts'
import type { Erased } from './erase.ts'

/** A mail that names the contact in what is kept of its header; others have got it too, or alone. */
export interface NamingMail {
  email_id: string
  /** Whether its content goes too: it has ended for all of its recipients, and says more of the contact than whom to answer. */
  loses_content: boolean
  /** Whether an execution of the contact has sent it: then all of it is about them, whatever its links name. */
  is_of_team: boolean
}

type Whom = Pick<Erased, 'contactId' | 'deliveryId' | 'at'> & ErasedAddress

/** A process whose clock is ahead makes ids of later. Mail with the same header may go on for ever, and is looked at up to here. */
const CLOCK_AHEAD_MS = 3_600_000

/** Recipients and further addresses for answers have hashes of their own (migrations 62 and 64). */
const hashOfRecipient = (email: string) => sql`hashtextextended(${email}, 0)`
const hashOfAnswered = (email: string) => sql`hashtextextended(${email}, 1)`

interface Stretch {
  after: string
  /** An expression; null: all of them. */
  limit: RawBuilder<unknown>
}

const FROM_THE_FIRST: Stretch = { after: '', limit: sql`null` }

/**
 * Ids of emails that name the address, in their order, and perhaps some of after the erasure; `is_only_asked`: as whom to answer, and not as a
 * recipient. Mail that asks to answer an address of the customer's own may be all mail that they ever sent; it is not looked for.
 */
function emailsNaming(workspaceId: WorkspaceId, whom: Whom, { after, limit }: Stretch) {
  const { at, email, isCustomers } = whom
  const until = firstIdAt('email', at.getTime() + CLOCK_AHEAD_MS)
  const isWithin = (id: RawBuilder<unknown>) =>
    sql`${id} > ${after}::text and ${id} < ${until}::text order by ${id} limit ${limit}`
  const byHash = (hash: RawBuilder<unknown>) => sql`
      from header_names h where h.workspace_id = ${workspaceId} and h.hash = ${hash} and ${isWithin(sql`h.email_id`)}`
  const asRecipient = sql`
      (select h.email_id, false as is_asked ${byHash(hashOfRecipient(email))})`
  const asAnswered = sql`
      union all (select h.email_id, true ${byHash(hashOfAnswered(email))})
      union all (select e.id, true from emails e where e.workspace_id = ${workspaceId} and e.reply_to <> '{}'
        and lower(${addressIn(sql`e.reply_to[1]`)}) = ${email} and ${isWithin(sql`e.id`)})`
  return sql`(
    select email_id, bool_and(is_asked) as is_only_asked from (${asRecipient} ${isCustomers ? sql`` : asAnswered}) by_either
    group by email_id order by email_id limit ${limit})`
}

/**
 * The emails `m` that name the address, as `n`, and what has become of their deliveries, as `o`. The limit has each read by its id: a join may
 * read all of before, too.
 */
const withDeliveries = (workspaceId: WorkspaceId, whom: Whom, stretch: Stretch) => sql`
    ${emailsNaming(workspaceId, whom, stretch)} n
    cross join lateral (select * from emails where id = n.email_id and workspace_id = ${workspaceId} limit 1) m
    cross join lateral (
      select coalesce(bool_and(d.settled_at is not null), true) as has_ended,
        coalesce(bool_or(d.settled_at is null and not d.scheduled), false) as is_under_way,
        coalesce(min(d.id), 0) as first_id
      from deliveries d where d.email_id = n.email_id) o`

/** What was sent after the erasure stays, and whom a sender asks to answer who writes by the same address. */
const isToBlank = ({ email, deliveryId }: Whom) => sql`(o.first_id <= ${deliveryId}::bigint
      and (not n.is_only_asked or lower(${addressIn(sql`m."from"`)}) <> ${email}))`

/** Whether the contact's own execution has sent it. */
const isOfTeam = (workspaceId: WorkspaceId, { contactId }: Whom) => sql<boolean>`exists (
      select from executions x where x.id = m.execution_id and x.workspace_id = ${workspaceId} and x.contact_id = ${contactId})`

/** All that callers wrote, but for attachments. */
const CONTENT = sql`concat_ws(' ', m.subject, m.text, m.html, m.headers, m.tags, m.metadata)`

/** Columns of `NamingMail`. */
const columns = (
  workspaceId: WorkspaceId,
  whom: Whom,
) => sql`n.email_id, ${isOfTeam(workspaceId, whom)} as is_of_team,
      o.has_ended and (not n.is_only_asked or ${isOfTeam(workspaceId, whom)} or ${isNamed(CONTENT, whom.email)}) as loses_content`

/** Mail that is under way to others is left for later, unless it is scheduled. @param waits false: it is not left */
const isReady = (waits: boolean) => sql`(not o.is_under_way or ${!waits}::boolean)`

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
    select ${columns(workspaceId, whom)}, ${isToBlank(whom)} and ${isReady(waits)} as to_blank
    from ${withDeliveries(workspaceId, whom, { after, limit: sql`${limit}` })}
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
    select ${columns(workspaceId, whom)} from ${withDeliveries(workspaceId, whom, FROM_THE_FIRST)}
    where ${isToBlank(whom)} and ${isReady(waits)}
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
    select 1 from ${withDeliveries(workspaceId, whom, FROM_THE_FIRST)}
    where ${isToBlank(whom)} limit 1`.execute(trx)
  return rows.length > 0
}

/**
 * Blanks mail that names the address as mail to several, of whom the contact was one, and forgets that it did. The caller holds the tracking
 * lock of each mail, and its deliveries.
 */
export async function blankNamingMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: ErasedAddress,
  mails: readonly NamingMail[],
): Promise<void> {
  if (mails.length === 0) return
  await blankContents(
    trx,
    workspaceId,
    whom,
    mails.map((mail) => ({ ...mail, is_shared: true })),
  )
  const { email } = whom
  await sql`
    delete from header_names where workspace_id = ${workspaceId} and hash in (${hashOfRecipient(email)}, ${hashOfAnswered(email)})
      and email_id = any(${mails.map((mail) => mail.email_id)}::text[])`.execute(trx)
}
