// Finds and blanks mail that was submitted by SMTP, whose header names an erased contact as a recipient and whose envelope does not: the client
// had sent it to them by another one. It is found by the table `header_names`, which a trigger writes (migration 63).
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { blankContents } from './blank.ts'
import type { Erased } from './erase.ts'

/** A mail whose header names the contact, and which went to others alone. */
export interface NamingMail {
  email_id: string
  /** Whether it has ended for all of its recipients, so that its content goes too. */
  has_ended: boolean
}

type Whom = Pick<Erased, 'email' | 'deliveryId'>

/** Emails `n` that name the address, with what has become of their deliveries `o`; what was submitted after the erasure stays. */
const naming = (workspaceId: WorkspaceId, { email, deliveryId }: Whom) => sql`
    from header_names n cross join lateral (
      select coalesce(bool_and(d.settled_at is not null), true) as has_ended,
        bool_or(d.settled_at is null and not d.scheduled) as is_under_way, coalesce(min(d.id), 0) as first_id
      from deliveries d where d.email_id = n.email_id
    ) o
    where n.workspace_id = ${workspaceId} and n.hash = hashtextextended(${email}, 0) and o.first_id <= ${deliveryId}::bigint`

/**
 * The next mail that names the address, in the order of ids. Mail that is under way to others is left for later, unless it is scheduled or
 * `waits` is false.
 */
export async function listNamingMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: Whom,
  { waits, limit }: { waits: boolean; limit: number },
): Promise<NamingMail[]> {
  const { rows } = await sql<NamingMail>`
    select n.email_id, o.has_ended ${naming(workspaceId, whom)}
      and (o.is_under_way is not true or ${!waits}::boolean)
    order by n.email_id limit ${limit}`.execute(trx)
  return rows
}

/** Whether mail that names the address is left, under way or not. */
export async function hasNamingMailLeft(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: Whom,
): Promise<boolean> {
  const { rows } = await sql`select 1 ${naming(workspaceId, whom)} limit 1`.execute(trx)
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
  const shared = { is_shared: true, is_of_team: false }
  await blankContents(
    trx,
    workspaceId,
    email,
    mails.map((mail) => ({ ...mail, ...shared })),
  )
  await sql`
    delete from header_names where workspace_id = ${workspaceId} and hash = hashtextextended(${email}, 0)
      and email_id = any(${mails.map((mail) => mail.email_id)}::text[])`.execute(trx)
}
