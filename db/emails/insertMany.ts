// Writes a group of emails without attachments in one statement, so that they share a commit.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { binaryTexts } from '../binaryTexts.ts'
import type { Trx } from '../connect.ts'
import {
  classPlace,
  type NewEmail,
  type RecipientMacs,
  recipientRows,
  writeGiven,
} from './insert.ts'

/** Mail whose bodies are short strings, and which has no attachments. */
export type PlainEmail = NewEmail & {
  row: { html: string | null; text: string | null }
  attachments: []
}

/** A longer html, text or source goes to Postgres alone, so that it delays no others. */
const BODY_LENGTH_MAX = 50_000

export function isPlain(email: NewEmail): email is PlainEmail {
  const isShort = (body: string | Buffer | null) =>
    body === null || (typeof body === 'string' && body.length <= BODY_LENGTH_MAX)
  if ((email.source?.length ?? 0) > BODY_LENGTH_MAX) return false
  return email.attachments.length === 0 && isShort(email.row.html) && isShort(email.row.text)
}

const sources = sql`, source as (
    insert into email_sources (email_id, position, content)
    select id, 0, decode(source, 'base64') from given where source is not null
  )`

/**
 * Writes what `insertEmail` writes, for each of them. If one row is refused, none is written. The caller wakes the
 * lanes.
 * @param macsOf for each recipient
 */
export async function insertEmails(
  trx: Trx,
  workspaceId: WorkspaceId,
  emails: readonly PlainEmail[],
  macsOf: (email: NewEmail) => RecipientMacs,
): Promise<void> {
  const rows = emails.map(rowOf)
  const bodies = (part: 'html' | 'text') => binaryTexts(emails.map(({ row }) => row[part]))
  const recipients = emails.flatMap((email) => {
    const { left, own } = macsOf(email)
    return recipientRows(email).map((recipient, i) => ({
      email_id: email.row.id,
      ...recipient,
      hex: left[i]?.toString('hex') ?? null,
      own_hex: own[i]?.toString('hex') ?? null,
    }))
  })
  await writeGiven(trx, workspaceId, {
    given: sql`
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g(
        n integer, id text, type text, category text, "from" text, "to" text[], cc text[], bcc text[], reply_to text[],
        subject text, template_id text, domain_id text, headers jsonb, tags jsonb,
        metadata jsonb, message_id text, workflow_id text, execution_id text, node_id text,
        unsubscribe_token text, track_opens boolean, track_clicks boolean, tracking_host text,
        scheduled_at timestamptz, created_at timestamptz, class smallint, due_at timestamptz, expires_at timestamptz, source text)`,
    bodies: {
      html: sql`(${bodies('html')}::text[])[n]`,
      text: sql`(${bodies('text')}::text[])[n]`,
    },
    further: emails.some(({ source }) => source) ? sources : sql``,
    recipients: sql`
      select email_id, address, domain, shard, key, to_team, provider, simulated, decode(hex, 'hex') as mac,
        decode(own_hex, 'hex') as own, position
      from jsonb_to_recordset(${JSON.stringify(recipients)}::jsonb)
        as r(email_id text, address text, domain text, shard smallint, key text, to_team boolean, provider text,
          simulated boolean, hex text, own_hex text, position integer)`,
  })
}

/** Written out: to copy rows without their bodies was a twentieth of what an email of a batch costs. */
const rowOf = ({ row, source, dueAt, expiresAt }: PlainEmail, i: number) => ({
  n: i + 1,
  id: row.id,
  type: row.type,
  category: row.category,
  from: row.from,
  to: row.to,
  cc: row.cc,
  bcc: row.bcc,
  reply_to: row.reply_to,
  subject: row.subject,
  template_id: row.template_id,
  domain_id: row.domain_id,
  headers: row.headers,
  tags: row.tags,
  metadata: row.metadata,
  message_id: row.message_id,
  workflow_id: row.workflow_id,
  execution_id: row.execution_id,
  node_id: row.node_id,
  unsubscribe_token: row.unsubscribe_token,
  track_opens: row.track_opens,
  track_clicks: row.track_clicks,
  tracking_host: row.tracking_host,
  scheduled_at: row.scheduled_at,
  created_at: row.created_at,
  source: source?.toString('base64') ?? null,
  class: classPlace(row),
  due_at: dueAt,
  expires_at: expiresAt,
})
