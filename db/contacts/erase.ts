// Ends what goes on for a contact who is erased, in the answering commit; and finds out how far their traces reach.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { isWaiting } from '../deliveries/guards.ts'

/** Whom to erase. What has a later id is of somebody who uses the address again. */
export interface Erased {
  contactId: string
  /** In lower case. */
  email: string
  /** The last delivery of then. */
  deliveryId: number
  /** An id as webhook_events have them: those of before are lower. */
  webhookEventId: string
  /** The time of Postgres then, which kept answers bear too. */
  at: Date
  /** Ids of audience contacts that were added while the lock of the contact was waited for. */
  members: readonly string[]
}

/** The bounds of what is there now. The caller holds the contact's lock, so that none of it is missed. */
export async function findBounds(
  trx: Trx,
): Promise<Pick<Erased, 'deliveryId' | 'webhookEventId' | 'at'>> {
  const { rows } = await sql<{ delivery_id: number; webhook_event_id: string; at: Date }>`
    select (select coalesce(max(id), 0) from deliveries) as delivery_id, webhook_id()::text as webhook_event_id,
      clock_timestamp()::timestamptz(3) as at
  `.execute(trx)
  const [row] = rows
  if (!row) throw new Error('bounds were answered by no row')
  return { deliveryId: row.delivery_id, webhookEventId: row.webhook_event_id, at: row.at }
}

/** Deletes the contact's row. The caller holds its lock. */
export async function deleteContact(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
): Promise<void> {
  await trx
    .deleteFrom('contacts')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', contactId)
    .execute()
}

/** Deletes what waits in the outbox to be recorded for the contact. */
export async function deleteContactNews(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
): Promise<void> {
  await sql`
    delete from outbox where workspace_id = ${workspaceId} and contact_id = ${contactId}
      and kind in ('mail_event', 'leave')
  `.execute(trx)
}

/** The audiences of an address, and what it is there, in the order in which audiences are locked; those too that are deleted. */
export function listMemberships(
  trx: Trx,
  workspaceId: WorkspaceId,
  email: string,
): Promise<{ audience_id: string; id: string }[]> {
  return trx
    .selectFrom('audience_contacts')
    .select(['audience_id', 'id'])
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', email)
    .orderBy('audience_id')
    .execute()
}

/** Removes a contact from its audience, which is locked; what webhooks are told of it names nobody. @returns undefined if it is not there */
export async function eraseMember(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<{ is_subscribed: boolean } | undefined> {
  const blank = await trx
    .updateTable('audience_contacts')
    .set({ email: '', first_name: null, last_name: null, properties: '{}' })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .returning('is_subscribed')
    .executeTakeFirst()
  if (!blank) return undefined
  await trx
    .deleteFrom('audience_contacts')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
  return blank
}

/**
 * Cancels mail that waits for the address, scheduled mail too. Mail that a lane has claimed is passed over: it is settled by the lane, or
 * comes back and is found by the next page. Nobody is told of it before it is blanked.
 * @returns how much of it
 */
export async function cancelMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  { email, deliveryId }: Pick<Erased, 'email' | 'deliveryId'>,
  { now, limit }: { now: Date; limit: number },
): Promise<number> {
  const { rows } = await sql`
    update deliveries d set state = 'cancelled', scheduled = false, settled_at = ${now}::timestamptz from (
      select id from deliveries
      where workspace_id = ${workspaceId} and lower(recipient) = ${email} and id <= ${deliveryId}::bigint
        and settled_at is null and lease_until is null and ${isWaiting}
      order by id limit ${limit} for update skip locked) waiting
    where d.id = waiting.id returning d.id`.execute(trx)
  return rows.length
}

/** From now on no mail up to that delivery goes out to the address (`look.ts`), until the erasure is over. */
export async function insertLiveErasure(
  trx: Trx,
  workspaceId: WorkspaceId,
  { hmac, deliveryId }: { hmac: Buffer; deliveryId: number },
): Promise<void> {
  await sql`
    insert into live_erasures as e (workspace_id, address_hmac, delivery_id)
    values (${workspaceId}, ${hmac}, ${deliveryId}::bigint)
    on conflict (workspace_id, address_hmac) do update set delivery_id = greatest(e.delivery_id, excluded.delivery_id)
  `.execute(trx)
}

/** Of mail up to that delivery nothing is left that could go out. */
export async function deleteLiveErasure(
  trx: Trx,
  workspaceId: WorkspaceId,
  { hmac, deliveryId }: { hmac: Buffer; deliveryId: number },
): Promise<void> {
  await sql`
    delete from live_erasures where workspace_id = ${workspaceId} and address_hmac = ${hmac}
      and delivery_id <= ${deliveryId}::bigint
  `.execute(trx)
}
