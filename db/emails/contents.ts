// Reads emails for the lane that sends them: a group in one round trip, long bodies and attachments in further
// ones.
import { sql } from 'kysely'
import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'
import { readLongBody } from './sliceReads.ts'
import { sourceColumns } from './sources.ts'

/** Longer bodies are read in slices. */
const ROW_BYTES_MAX = 1024 * 1024

const columns = [
  'id',
  'workspace_id',
  'type',
  'category',
  'from',
  'to',
  'cc',
  'reply_to',
  'subject',
  'domain_id',
  'headers',
  'message_id',
  'workflow_id',
  'unsubscribe_token',
  'track_opens',
  'track_clicks',
  'tracking_host',
] as const

type ContentRow = Pick<Row<'emails'>, (typeof columns)[number] | 'html' | 'text' | 'created_at'> & {
  html_bytes: number
  text_bytes: number
  attachments_bytes: number
  /** Size of the whole message; null: it is composed. */
  source_bytes: number | null
  /** The whole message; null: it is composed, or long. */
  source: Buffer | null
  /** How often composing it has ended a worker while it was alone; null: it is no suspect. */
  suspect_deaths: number | null
  /** The same of its deliveries whose replies are suspects, by `suspectDeliveryId`; null: there are none. */
  suspect_deliveries: Record<string, number> | null
}

/**
 * The emails with these ids, in any order; deleted ones are left out. Attachments and bodies over a megabyte are
 * not read: `heavy_bytes` is their size, and `readHeavyParts` reads them. The same holds for a source and `readSource`; bodies
 * are of no use beside it. `created_at` of scheduled mail is the time for which it was scheduled: its date and its signatures
 * are of then.
 */
export async function listEmailContents(db: Db, ids: string[]) {
  const { rows } = await sql<ContentRow>`
    with given as (select unnest(${ids}::text[]) as id)
    select ${sql.join(columns.map((column) => sql.ref(`e.${column}`)))},
      coalesce(e.scheduled_at, e.created_at) as created_at,
      case when octet_length(e.html) <= ${ROW_BYTES_MAX} then e.html end as html,
      case when octet_length(e.text) <= ${ROW_BYTES_MAX} then e.text end as text,
      ${longBytes('e.html')} as html_bytes, ${longBytes('e.text')} as text_bytes,
      coalesce((select sum(octet_length(content)) + count(*) from email_attachments
        where email_id = e.id), 0)::float8 as attachments_bytes,
      ${sourceColumns},
      (select deaths from suspects where kind = 'email' and id = e.id) as suspect_deaths,
      (select json_object_agg(id, deaths) from suspects
        where kind = 'delivery' and id > e.id || '/' and id < e.id || '0') as suspect_deliveries
    from given join emails e on e.id = given.id
  `.execute(db)
  return rows.map((email) => {
    const { html_bytes, text_bytes, attachments_bytes, source, source_bytes } = email
    const composed_bytes = html_bytes + text_bytes + attachments_bytes
    const carried_bytes = source === null ? (source_bytes ?? 0) : 0
    // Added to the row: a copy of each takes longer than all else that is done with it here.
    return Object.assign(email, {
      heavy: { html: html_bytes > 0, text: text_bytes > 0, attachments: attachments_bytes > 0 },
      heavy_bytes: source_bytes !== null ? carried_bytes : composed_bytes,
    })
  })
}

export type EmailContent = Awaited<ReturnType<typeof listEmailContents>>[number]

/** Reads the whole bodies and attachments of an email. */
export async function readHeavyParts(db: Db, { id, html, text, heavy }: EmailContent) {
  return {
    html: heavy.html ? await readLongBody(db, id, 'html') : html,
    text: heavy.text ? await readLongBody(db, id, 'text') : text,
    attachments: heavy.attachments ? await listAttachments(db, id) : [],
  }
}

/** The beginnings of the html and the text of an email, in characters, and what its own links are known by; undefined: it is deleted. */
export function readBeginnings(db: Db, id: string, chars: number) {
  const start = (column: 'html' | 'text') =>
    sql<string | null>`left(${sql.ref(column)}, ${chars}::int)`
  return db
    .selectFrom('emails')
    .select([start('html').as('html'), start('text').as('text')])
    .select(['tracking_host', 'unsubscribe_token'])
    .where('id', '=', id)
    .executeTakeFirst()
}

function longBytes(column: 'e.html' | 'e.text') {
  const length = sql`octet_length(${sql.ref(column)})`
  return sql<number>`case when ${length} > ${ROW_BYTES_MAX} then ${length} else 0 end`
}

function listAttachments(db: Db, emailId: string) {
  return db
    .selectFrom('email_attachments')
    .select(['filename', 'content_type', 'content_id', 'content'])
    .where('email_id', '=', emailId)
    .orderBy('position')
    .execute()
}

/**
 * When each email was accepted, or due where it was scheduled, and whether it is transactional, which decides what an unknown outcome leads to.
 */
export async function listEmailCategories(db: Db, ids: string[]) {
  const rows = await db
    .selectFrom('emails')
    .select(['id', 'type', 'category', 'created_at', 'scheduled_at'])
    .where('id', 'in', ids)
    .execute()
  return new Map(
    rows.map((row) => [
      row.id,
      {
        acceptedAt: (row.scheduled_at ?? row.created_at).getTime(),
        transactional: isTransactional(row),
      },
    ]),
  )
}

/** Which of these emails no workflow sent: they came from the API. */
export async function listOwnEmails(db: Db, ids: string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('emails')
    .select('id')
    .where('id', 'in', ids)
    .where('type', '=', 'transactional')
    .where('workflow_id', 'is', null)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** Whether an email is sent once more after an unknown outcome. */
export function isTransactional(email: Pick<EmailContent, 'type' | 'category'>): boolean {
  return email.type === 'transactional' && email.category === 'transactional'
}
