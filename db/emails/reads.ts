// Reads emails and their email events. The status of an email follows from its events and is not stored with it.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Db, Trx } from '../connect.ts'
import type { Row } from '../schema.ts'
import { boundsOf, type EmailFilter, joinsOf, ofEmails } from './filters.ts'
import type { LongColumn } from './sliceReads.ts'

export type { EmailFilter }

export type EmailEventRow = Pick<
  Row<'email_events'>,
  'id' | 'email_id' | 'recipient' | 'status' | 'at' | 'data'
>

export type EmailListRow = Omit<Row<'emails'>, 'html' | 'text'> & {
  /** True while one of its deliveries is not settled. */
  open: boolean
  /** The latest event of each recipient, in the order of the recipients. */
  latest: EmailEventRow[]
}

// It does not use `exists`, which the planner may turn into a hash of the whole table.
const isOpen = sql<boolean>`coalesce((
  select true from deliveries d where d.email_id = emails.id and d.settled_at is null limit 1), false)`

const columns = [
  'id',
  'workspace_id',
  'type',
  'category',
  'from',
  'to',
  'cc',
  'bcc',
  'reply_to',
  'subject',
  'template_id',
  'domain_id',
  'headers',
  'tags',
  'metadata',
  'message_id',
  'workflow_id',
  'execution_id',
  'node_id',
  'unsubscribe_token',
  'track_opens',
  'track_clicks',
  'tracking_host',
  'scheduled_at',
  'created_at',
] as const

/** A page of emails after the id `after`, newest first; without a filter all of them. */
export async function listEmails(
  db: Db,
  { workspaceId, domainId }: Reach,
  page: { after: string | null; limit: number; filter?: EmailFilter },
): Promise<EmailListRow[]> {
  const { after, limit, filter = {} } = page
  const bounds = boundsOf(filter, after)
  const own = domainId === null ? sql`true` : sql`emails.domain_id = ${domainId}`
  const { rows } = await sql<Omit<EmailListRow, 'latest'>>`
    select ${sql.join(columns.map((column) => sql.ref(`emails.${column}`)))}, ${isOpen} as open
    from emails ${joinsOf(workspaceId, filter, bounds)}
    where emails.workspace_id = ${workspaceId} and ${own} and ${ofEmails(filter, bounds)}
    order by emails.id desc nulls last limit ${limit}
  `.execute(db)
  const events = await listLatestEvents(
    db,
    workspaceId,
    rows.map((row) => row.id),
  )
  return rows.map((row) => ({ ...row, latest: events.get(row.id) ?? [] }))
}

/** The latest event (by time, ties by id) of each recipient of these emails. */
async function listLatestEvents(
  db: Db,
  workspaceId: WorkspaceId,
  emailIds: string[],
): Promise<Map<string, EmailEventRow[]>> {
  const byEmail = new Map<string, EmailEventRow[]>()
  if (emailIds.length === 0) return byEmail
  const { rows } = await sql<EmailEventRow>`
    select id, email_id, recipient, status, at, data from (
      select distinct on (email_id, recipient) id, email_id, recipient, status, at, data,
        min(id) over (partition by email_id, recipient) as first_id
      from email_events
      where workspace_id = ${workspaceId} and email_id = any(${emailIds}::text[])
        and machine is null
      order by email_id, recipient, at desc, id desc
    ) latest
    order by email_id, first_id
  `.execute(db)
  for (const row of rows) {
    const list = byEmail.get(row.email_id)
    if (list) list.push(row)
    else byEmail.set(row.email_id, [row])
  }
  return byEmail
}

export type EmailRow = Row<'emails'> & { open: boolean }

/** Html and text of an email up to this size together are read with it. */
const CONTENT_BYTES_MAX = 256 * 1024

const bytesOf = (column: LongColumn) => sql<number | null>`octet_length(${sql.ref(column)})`
const contentBytes = sql`coalesce(${bytesOf('html')}, 0) + coalesce(${bytesOf('text')}, 0)`

/**
 * An email, and whether a delivery of it is not settled yet (`open`). `large` is null, or tells the sizes of a content that
 * was not read, in bytes of UTF-8: html and text are null then, and `findEmailSlice` reads them.
 */
export async function findEmail(
  db: Db,
  { workspaceId, domainId }: Reach,
  id: string,
): Promise<(EmailRow & { large: Record<LongColumn, number | null> | null }) | undefined> {
  const ifSmall = (column: LongColumn) =>
    sql<
      string | null
    >`case when ${contentBytes} <= ${CONTENT_BYTES_MAX} then ${sql.ref(column)} end`
  const row = await db
    .selectFrom('emails')
    .select(columns)
    .select([ifSmall('html').as('html'), ifSmall('text').as('text')])
    .select([bytesOf('html').as('html_bytes'), bytesOf('text').as('text_bytes')])
    .select(isOpen.as('open'))
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) return undefined
  const { html_bytes, text_bytes, ...email } = row
  const isLarge = (html_bytes ?? 0) + (text_bytes ?? 0) > CONTENT_BYTES_MAX
  return { ...email, large: isLarge ? { html: html_bytes, text: text_bytes } : null }
}

/** Those of these emails that the caller reaches. */
export async function findReachedEmails(
  db: Db,
  { workspaceId, domainId }: Reach,
  ids: string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('emails')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('id', 'in', ids)
    .execute()
  return new Set(rows.map((row) => row.id))
}

/** Everything that happened to an email, in time order. */
export function listEmailEvents(
  db: Db,
  workspaceId: WorkspaceId,
  emailId: string,
): Promise<EmailEventRow[]> {
  return db
    .selectFrom('email_events')
    .select(['id', 'email_id', 'recipient', 'status', 'at', 'data'])
    .where('workspace_id', '=', workspaceId)
    .where('email_id', '=', emailId)
    .where('machine', 'is', null)
    .orderBy('at')
    .orderBy('id')
    .execute()
}

/** The unsubscribe token of an email; null when it has none, or the email is gone. */
export async function findUnsubscribeToken(
  trx: Trx,
  workspaceId: WorkspaceId,
  emailId: string,
): Promise<string | null> {
  const row = await trx
    .selectFrom('emails')
    .select('unsubscribe_token')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', emailId)
    .executeTakeFirst()
  return row?.unsubscribe_token ?? null
}
