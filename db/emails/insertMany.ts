// Writes a group of emails without attachments in one statement, so that they share a commit.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { binaryBytes, binaryTexts } from '../binaryTexts.ts'
import type { Trx } from '../connect.ts'
import { unseen, unseenTexts } from '../unseen.ts'
import {
  classPlace,
  type NewEmail,
  type RecipientMacs,
  recipientRows,
  writeGiven,
} from './insert.ts'
import { preconditionHolds, type SendPrecondition } from './sendFacts.ts'

/** Mail whose bodies are short strings, and which has no attachments. */
export type PlainEmail = NewEmail & {
  row: { html: string | null; text: string | null }
  attachments: []
}

/** A longer html, text or source goes to Postgres alone, so that it delays no others. */
export const BODY_LENGTH_MAX = 50_000

export function isPlain(email: NewEmail): email is PlainEmail {
  const isShort = (body: string | Buffer | null) =>
    body === null || (typeof body === 'string' && body.length <= BODY_LENGTH_MAX)
  if ((email.source?.length ?? 0) > BODY_LENGTH_MAX) return false
  return email.attachments.length === 0 && isShort(email.row.html) && isShort(email.row.text)
}

/**
 * Writes what `insertEmail` writes, for each of them. If one row is refused, none is written. The caller wakes the
 * lanes.
 * @param macsOf for each recipient
 * @param precondition unless it holds nothing is written; absent: nothing is looked at
 * @returns false: the precondition did not hold
 */
export async function insertEmails(
  trx: Trx,
  workspaceId: WorkspaceId,
  emails: readonly PlainEmail[],
  macsOf: (email: NewEmail) => RecipientMacs,
  precondition?: SendPrecondition,
): Promise<boolean> {
  const bodies = (part: 'html' | 'text') => binaryTexts(emails.map(({ row }) => row[part]))
  const hasSources = emails.some(({ source }) => source)
  return writeGiven(trx, workspaceId, {
    given: givenOf(emails),
    bodies: {
      html: sql`(${bodies('html')}::text[])[n]`,
      text: sql`(${bodies('text')}::text[])[n]`,
    },
    further: hasSources ? sourcesOf(emails) : sql``,
    recipients: recipientsOf(emails, macsOf),
    ...(precondition ? { precondition: preconditionHolds(workspaceId, precondition) } : {}),
  })
}

const sourcesOf = (emails: readonly PlainEmail[]) => sql`, source as (
    insert into email_sources (email_id, position, content)
    select g.id, 0, s.content
    from unnest(${unseen(sql`${binaryBytes(emails.map(({ source }) => source ?? null))}::bytea[]`)})
      with ordinality as s(content, n) join given g on g.n = s.n
    where s.content is not null
  )`

/** What differs from email to email, as texts, joined to what many of them have in common. */
function givenOf(emails: readonly PlainEmail[]) {
  const { kinds, places } = kindsOf(emails)
  const texts = (of: (email: PlainEmail) => string | null) => unseenTexts(emails.map(of))
  return sql`
      select g.n::int as n, g.id, g.message_id, g.subject, case when g.sole is null then k."to" else array[g.sole] end as "to",
        k.type, k.category, k."from", k.cc, k.bcc, k.reply_to, k.template_id, k.domain_id, k.headers, k.tags, k.metadata,
        k.workflow_id, k.execution_id, k.node_id, k.unsubscribe_token, k.track_opens, k.track_clicks, k.tracking_host,
        k.scheduled_at, k.created_at, k.class, k.due_at, k.expires_at
      from unnest(${texts(({ row }) => row.id)}, ${texts(({ row }) => row.message_id)},
        ${texts(({ row }) => row.subject)}, ${texts(soleTo)}, ${unseen(sql`${places}::int[]`)})
        with ordinality as g(id, message_id, subject, sole, place, n)
      join jsonb_to_recordset(${JSON.stringify(kinds)}::jsonb) as k(
        place integer, type text, category text, "from" text, "to" text[], cc text[], bcc text[], reply_to text[],
        template_id text, domain_id text, headers jsonb, tags jsonb, metadata jsonb, workflow_id text, execution_id text,
        node_id text, unsubscribe_token text, track_opens boolean, track_clicks boolean, tracking_host text,
        scheduled_at timestamptz, created_at timestamptz, class smallint, due_at timestamptz, expires_at timestamptz)
        on k.place = g.place`
}

/** A recipient for each row, with the email's id. */
function recipientsOf(
  emails: readonly PlainEmail[],
  macsOf: (email: NewEmail) => RecipientMacs,
): ReturnType<typeof sql> {
  const all = emails.flatMap((email) => {
    const { left, own } = macsOf(email)
    return recipientRows(email).map((row, i) => ({
      row,
      emailId: email.row.id,
      left: left[i],
      own: own[i],
    }))
  })
  const texts = (of: (one: (typeof all)[number]) => string | null) => unseenTexts(all.map(of))
  return sql`
      select r.email_id, r.address, r.domain, r.shard, r.key, r.to_team, r.provider, r.simulated,
        decode(r.hex, 'hex') as mac, decode(r.own_hex, 'hex') as own, r.position
      from unnest(${texts(({ emailId }) => emailId)}, ${texts(({ row }) => row.address)},
        ${texts(({ row }) => row.domain)}, ${unseen(sql`${all.map(({ row }) => row.shard)}::smallint[]`)},
        ${texts(({ row }) => row.key)}, ${unseen(sql`${all.map(({ row }) => row.to_team)}::boolean[]`)},
        ${texts(({ row }) => row.provider)}, ${unseen(sql`${all.map(({ row }) => row.simulated)}::boolean[]`)},
        ${texts(({ left }) => left?.toString('hex') ?? null)}, ${texts(({ own }) => own?.toString('hex') ?? null)},
        ${unseen(sql`${all.map(({ row }) => row.position)}::int[]`)})
        as r(email_id, address, domain, shard, key, to_team, provider, simulated, hex, own_hex, position)`
}

/** The only address of `to`, which most emails have; null: there are several, or none. */
const soleTo = ({ row }: PlainEmail): string | null =>
  row.to.length === 1 ? (row.to[0] ?? null) : null

/** Columns that emails of one request have in common, or nearly so. One that is missing here does not compile. */
const sharedColumns = Object.keys({
  type: true,
  category: true,
  from: true,
  cc: true,
  bcc: true,
  reply_to: true,
  template_id: true,
  domain_id: true,
  headers: true,
  tags: true,
  metadata: true,
  workflow_id: true,
  execution_id: true,
  node_id: true,
  unsubscribe_token: true,
  track_opens: true,
  track_clicks: true,
  tracking_host: true,
  scheduled_at: true,
  created_at: true,
} satisfies Record<SharedColumn, true>) as SharedColumn[]
type SharedColumn = Exclude<
  keyof PlainEmail['row'],
  'id' | 'message_id' | 'subject' | 'to' | 'html' | 'text'
>

/**
 * What emails have in common, each once, and the place of that of each email. Emails of one request differ in little else than their
 * recipients and texts, and to write all of it out for each was a tenth of what an email of a batch costs.
 */
function kindsOf(emails: readonly PlainEmail[]) {
  const kinds: ReturnType<typeof kindOf>[] = []
  let last: PlainEmail | undefined
  const places = emails.map((email) => {
    if (!last || !areAlike(last, email)) kinds.push(kindOf(email, kinds.length))
    last = email
    return kinds.length - 1
  })
  return { kinds, places }
}

const kindOf = (email: PlainEmail, place: number) => ({
  ...Object.fromEntries(sharedColumns.map((column) => [column, email.row[column]])),
  place,
  to: soleTo(email) === null ? email.row.to : [],
  class: classPlace(email.row),
  due_at: email.dueAt,
  expires_at: email.expiresAt,
})

/** Whether two emails have all of `kindOf` in common. False also for some that have, such as two with the same tags. */
const areAlike = (one: PlainEmail, other: PlainEmail): boolean =>
  soleTo(one) !== null &&
  soleTo(other) !== null &&
  isSame(one.dueAt, other.dueAt) &&
  isSame(one.expiresAt, other.expiresAt) &&
  sharedColumns.every((column) => isSame(one.row[column], other.row[column]))

/** Whether two values of a column are the same. False also for some objects that are, but not for empty ones. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (!one || !other || typeof one !== 'object' || typeof other !== 'object') return false
  if (one instanceof Date) return other instanceof Date && one.getTime() === other.getTime()
  if (Array.isArray(one))
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, i) => item === other[i])
    )
  return Object.keys(one).length === 0 && Object.keys(other).length === 0
}
