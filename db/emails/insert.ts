// Writes an email: the row, its deliveries and first email events, in one statement.

import { sql } from 'kysely'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { shardOf } from '../../rules/shard.ts'
import type { Trx } from '../connect.ts'
import type { NewRow, Row } from '../schema.ts'

type NewAttachment = Omit<NewRow<'email_attachments'>, 'email_id' | 'position'>

/** An accepted email that is not written yet. */
export interface NewEmail {
  row: Omit<Row<'emails'>, 'workspace_id' | 'html' | 'text'> & {
    /** UTF-8 that is large goes to Postgres as it is; a string would be copied twice more. */
    html: string | Buffer | null
    text: string | Buffer | null
  }
  /** Bare addresses, each once, in the order in which they are to be shown. */
  recipients: string[]
  attachments: NewAttachment[]
  /** When its first attempt is due. */
  dueAt: Date
  /** When it is no longer tried. */
  expiresAt: Date
}

/**
 * Writes an email with its attachments, one delivery for each recipient (`suppressed` for those on the
 * suppression list, else `queued`), and the email events `sent`, and `bounced` for the suppressed ones.
 * One statement, so one commit where the caller has no transaction of its own. The caller wakes the lanes.
 */
export async function insertEmail(
  trx: Trx,
  workspaceId: WorkspaceId,
  email: NewEmail,
): Promise<void> {
  const { row, recipients } = email
  const shards = recipients.map(shardOf)
  const keys = recipients.map((address) => normalizeContactEmail(address) ?? address.toLowerCase())
  await sql`
    with recipient as (
      select r.address, r.shard, r.position, s.email is not null as suppressed
      from unnest(${recipients}::text[], ${shards}::smallint[], ${keys}::text[])
        with ordinality as r(address, shard, key, position)
      left join suppressions s on s.workspace_id = ${workspaceId} and s.email = r.key
        and (s.expires_at is null or s.expires_at > ${row.created_at})
    ), email as (
      insert into emails (id, workspace_id, type, category, "from", "to", cc, bcc, reply_to, subject,
        html, text, template_id, domain_id, headers, tags, metadata, message_id, workflow_id,
        execution_id, node_id, unsubscribe_token, track_opens, track_clicks, tracking_host, created_at)
      values (${row.id}, ${workspaceId}, ${row.type}, ${row.category}, ${row.from}, ${row.to},
        ${row.cc}, ${row.bcc}, ${row.reply_to}, ${row.subject}, ${row.html}, ${row.text},
        ${row.template_id}, ${row.domain_id}, ${JSON.stringify(row.headers)},
        ${JSON.stringify(row.tags)}, ${JSON.stringify(row.metadata)}, ${row.message_id},
        ${row.workflow_id}, ${row.execution_id}, ${row.node_id}, ${row.unsubscribe_token},
        ${row.track_opens}, ${row.track_clicks}, ${row.tracking_host}, ${row.created_at})
    ), delivery as (
      insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at,
        expires_at, created_at, settled_at)
      select ${row.id}, ${workspaceId}, ${row.domain_id}, address, shard,
        case when suppressed then 'suppressed' else 'queued' end,
        ${email.dueAt}::timestamptz, ${email.expiresAt}::timestamptz, ${row.created_at}::timestamptz,
        case when suppressed then ${row.created_at}::timestamptz end
      from recipient order by position
    )${attachments(row.id, email.attachments)}
    insert into email_events (email_id, workspace_id, recipient, status, at, data)
    select ${row.id}, ${workspaceId}, address, status, ${row.created_at}::timestamptz, data
    from recipient cross join (values
      (1, 'sent', '{}'::jsonb),
      (2, 'bounced', '{"type": "Permanent", "subtype": "OnAccountSuppressionList"}'::jsonb)
    ) as event(step, status, data)
    where status = 'sent' or suppressed
    order by step, position
  `.execute(trx)
}

function attachments(emailId: string, files: NewAttachment[]) {
  if (files.length === 0) return sql``
  const rows = files.map(
    (file, position) =>
      sql`(${emailId}, ${position}, ${file.filename}, ${file.content_type}, ${file.content_id},
        ${file.content})`,
  )
  return sql`, attachment as (
      insert into email_attachments (email_id, position, filename, content_type, content_id, content)
      values ${sql.join(rows)}
    )`
}
