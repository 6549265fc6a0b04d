// Writes the link targets of tracked emails, and their opens and clicks.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { JsonObject, NewRow } from '../schema.ts'
import type { TrackedDelivery } from './reads.ts'

/**
 * Writes the link targets of emails; an email that has them already keeps them. After the commit its tokens work.
 */
export async function insertEmailLinks(trx: Trx, rows: NewRow<'email_links'>[]): Promise<void> {
  if (rows.length === 0) return
  await trx
    .insertInto('email_links')
    .values(rows)
    .onConflict((oc) => oc.column('email_id').doNothing())
    .execute()
}

/**
 * Takes the lock of an email's tracking: one transaction at a time handles its opens, clicks and unsubscribes. It
 * comes before all other locks (`transact`).
 */
export async function lockMailTracking(trx: Trx, emailId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`tracking:${emailId}`}, 0))`.execute(
    trx,
  )
}

/** Takes the locks of several, in the order of their ids. */
export async function lockMailsTracking(trx: Trx, emailIds: readonly string[]): Promise<void> {
  if (emailIds.length === 0) return
  await sql`
    select pg_advisory_xact_lock(hashtextextended('tracking:' || m.id, 0)) from (
      select distinct id collate "C" as id from unnest(${[...emailIds]}::text[]) as g(id) order by 1) m
  `.execute(trx)
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
  trx: Trx,
  workspaceId: WorkspaceId,
  { email_id, recipient }: Pick<TrackedDelivery, 'email_id' | 'recipient'>,
  event: TrackedEvent,
  repeatsAfter: Date,
): Promise<boolean> {
  const result = await sql`
    insert into email_events (email_id, workspace_id, recipient, status, at, data, machine)
    select ${email_id}, ${workspaceId}, ${recipient}, ${event.status}, ${event.at}::timestamptz,
      ${JSON.stringify(event.data)}::jsonb, ${event.machine}::text
    where not exists (
      select from email_events
      where workspace_id = ${workspaceId} and email_id = ${email_id}
        and recipient = ${recipient} and status = ${event.status}
        and at > ${repeatsAfter} and (machine is null) = ${event.machine === null}::boolean
        and data->>'link' is not distinct from ${event.data['link'] ?? null}::text
    )
  `.execute(trx)
  return (result.numAffectedRows ?? 0n) > 0n
}

/** Marks a recipient's clicks after that time as made by a machine. */
export async function markClicks(
  trx: Trx,
  workspaceId: WorkspaceId,
  { email_id, recipient }: Pick<TrackedDelivery, 'email_id' | 'recipient'>,
  after: Date,
  machine: string,
): Promise<void> {
  await trx
    .updateTable('email_events')
    .set({ machine })
    .where('workspace_id', '=', workspaceId)
    .where('email_id', '=', email_id)
    .where('recipient', '=', recipient)
    .where('status', '=', 'clicked')
    .where('machine', 'is', null)
    .where('at', '>', after)
    .execute()
}
