// Reads the delivery that a report is about, and the attempts of an email with their SMTP conversations.

import { sql } from 'kysely'
import { emailIdOf } from '../../rules/mail/messageIds.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'

/** What whoever takes a report has to know of its delivery. */
export const reportedColumns = [
  'id',
  'email_id',
  'workspace_id',
  'recipient',
  'state',
  'to_team',
  'address_hmac',
  'own_hmac',
] as const

/** The delivery that a report is about. */
export type ReportedDelivery = Pick<Row<'deliveries'>, (typeof reportedColumns)[number]>

/** Finds the delivery that a report is about, in any workspace: a report names only the return path. */
export function findReportedDelivery(db: Db, id: number): Promise<ReportedDelivery | undefined> {
  return db.selectFrom('deliveries').select(reportedColumns).where('id', '=', id).executeTakeFirst()
}

/** How the reported mail names itself in its header. */
export interface NamedMail {
  messageId: string
  /** The workspace of its Feedback-ID, which no client can set; null: it was cut out. */
  workspaceId: string | null
}

/**
 * The only delivery of the mail with that Message-ID, in any workspace: a signed report of a feedback loop names the
 * mail and nothing else. A client that submits mail may give it whatever Message-ID, also that of another workspace's mail: so the
 * workspace must be that of Feedback-ID, and where that was cut out nobody else may have such a mail. Null for a mail with
 * several recipients, too, since the report could be about each of them.
 */
export async function findSoleDelivery(
  db: Db,
  { messageId, workspaceId }: NamedMail,
): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`
    with named as (
      select id from emails where id = ${emailIdOf(messageId)}::text
      union all
      (select email_id from submitted_message_ids
        where hash = hashtextextended(${messageId}::text, 0)
          and (${workspaceId}::text is null or workspace_id = ${workspaceId}::text)
        limit 2)
    )
    select d.id from named n
    join emails e on e.id = n.id and e.message_id = ${messageId}::text
      and (${workspaceId}::text is null or e.workspace_id = ${workspaceId}::text)
    join deliveries d on d.email_id = e.id
    limit 2`.execute(db)
  return rows.length === 1 ? (rows[0]?.id ?? null) : null
}

export type EmailAttemptRow = Omit<Row<'delivery_attempts'>, 'delivery_id'> & { recipient: string }

/** The newest attempts at an email, oldest first; undefined when the caller reaches no such email. */
export async function listEmailAttempts(
  db: Db,
  { workspaceId, domainId }: Reach,
  emailId: string,
  limit: number,
): Promise<EmailAttemptRow[] | undefined> {
  const email = await db
    .selectFrom('emails')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('id', '=', emailId)
    .executeTakeFirst()
  if (!email) return undefined
  const { rows } = await sql<EmailAttemptRow>`
    select * from (
      select d.recipient, a.attempt, a.started_at, a.ended_at, a.outcome, a.phase, a.code, a.response,
        a.host, a.address, a.tls, a.conversation
      from deliveries d join delivery_attempts a on a.delivery_id = d.id
      where d.email_id = ${emailId}
      order by a.started_at desc, d.recipient desc, a.attempt desc
      limit ${limit}
    ) newest order by started_at, recipient, attempt
  `.execute(db)
  return rows
}
