// Tracked links of emails, and the opens and clicks that came of them.
import { sql, type Transaction } from 'kysely'
import type { Db } from './connect.ts'
import type { Database, JsonObject, NewRow } from './schema.ts'

/** Writes the targets of emails' links; those of an email that has them already stay. Its tokens work from then on. */
export async function insertEmailLinks(db: Db, rows: NewRow<'email_links'>[]): Promise<void> {
  if (rows.length === 0) return
  await db
    .insertInto('email_links')
    .values(rows)
    .onConflict((oc) => oc.column('email_id').doNothing())
    .execute()
}

/** The delivery that a token names, of any workspace: the token is all that its reader has. */
export interface TrackedDelivery {
  delivery_id: number
  email_id: string
  workspace_id: string
  recipient: string
  settled_at: Date | null
  /** The link's target; null for an open, or when the email has no such link. */
  url: string | null
}

/** @param index of the link among the email's targets; null: the pixel is meant */
export async function findTrackedDelivery(
  db: Db,
  deliveryId: number,
  index: number | null,
): Promise<TrackedDelivery | undefined> {
  const { rows } = await sql<TrackedDelivery>`
    select d.id as delivery_id, d.email_id, d.workspace_id, d.recipient, d.settled_at,
      (select l.urls[${index}::int + 1] from email_links l where l.email_id = d.email_id) as url
    from deliveries d where d.id = ${deliveryId}
  `.execute(db)
  return rows[0]
}

/** One transaction after the other for an email's opens, clicks and unsubscribes. Take it before a contact's lock. */
export async function lockMailTracking(trx: Transaction<Database>, emailId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`tracking:${emailId}`}, 0))`.execute(
    trx,
  )
}

/** Fetches of an email's links after a moment, machines' too, oldest first. */
export async function listLinkFetches(
  trx: Transaction<Database>,
  emailId: string,
  after: Date,
): Promise<{ at: Date; link: string }[]> {
  const { rows } = await sql<{ at: Date; link: string }>`
    select at, data->>'link' as link from email_events
    where email_id = ${emailId} and status = 'clicked' and at > ${after} and data ? 'link'
    order by at, id
  `.execute(trx)
  return rows
}

/** How many opens and clicks of a recipient are stored, up to `max`. */
export async function countTracked(
  trx: Transaction<Database>,
  { email_id, recipient }: Pick<TrackedDelivery, 'email_id' | 'recipient'>,
  max: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from email_events
      where email_id = ${email_id} and recipient = ${recipient} and status in ('opened', 'clicked')
      limit ${max}
    ) as tracked
  `.execute(trx)
  return rows[0]?.count ?? 0
}

export interface TrackedEvent {
  status: 'opened' | 'clicked'
  at: Date
  data: JsonObject
  machine: string | null
}

/**
 * Writes an open or click, unless the same one (of that link, by a machine or not) was written after `repeatsAfter`.
 * @returns whether it was written
 */
export async function insertTracked(
  trx: Transaction<Database>,
  { email_id, workspace_id, recipient }: TrackedDelivery,
  event: TrackedEvent,
  repeatsAfter: Date,
): Promise<boolean> {
  const result = await sql`
    insert into email_events (email_id, workspace_id, recipient, status, at, data, machine)
    select ${email_id}, ${workspace_id}, ${recipient}, ${event.status}, ${event.at}::timestamptz,
      ${JSON.stringify(event.data)}::jsonb, ${event.machine}::text
    where not exists (
      select from email_events
      where email_id = ${email_id} and recipient = ${recipient} and status = ${event.status}
        and at > ${repeatsAfter} and (machine is null) = ${event.machine === null}::boolean
        and data->>'link' is not distinct from ${event.data['link'] ?? null}::text
    )
  `.execute(trx)
  return (result.numAffectedRows ?? 0n) > 0n
}

/** Clicks of a recipient after a moment turn out to be a machine's. */
export async function markClicks(
  trx: Transaction<Database>,
  { email_id, recipient }: Pick<TrackedDelivery, 'email_id' | 'recipient'>,
  after: Date,
  machine: string,
): Promise<void> {
  await trx
    .updateTable('email_events')
    .set({ machine })
    .where('email_id', '=', email_id)
    .where('recipient', '=', recipient)
    .where('status', '=', 'clicked')
    .where('machine', 'is', null)
    .where('at', '>', after)
    .execute()
}
