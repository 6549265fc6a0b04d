// Reads tracked deliveries, and their opens and clicks.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'

/** The delivery that a tracking token names, in any workspace: a visitor has only the token. */
export interface TrackedDelivery {
  delivery_id: number
  email_id: string
  workspace_id: WorkspaceId
  recipient: string
  to_team: boolean
  settled_at: Date | null
  /** The link's target; null for an open, or when the email has no such link, or it was blanked. */
  url: string | null
}

/** @param index of the link among the email's targets; null: the pixel */
export async function findTrackedDelivery(
  db: Db,
  deliveryId: number,
  index: number | null,
): Promise<TrackedDelivery | undefined> {
  const { rows } = await sql<TrackedDelivery>`
    select d.id as delivery_id, d.email_id, d.workspace_id, d.recipient, d.to_team, d.settled_at,
      (select nullif(l.urls[${index}::int + 1], '') from email_links l where l.email_id = d.email_id) as url
    from deliveries d where d.id = ${deliveryId}
  `.execute(db)
  return rows[0]
}

/** A recipient's clicks on an email's links after that time, those of machines too, oldest first. */
export async function listLinkFetches(
  trx: Trx,
  workspaceId: WorkspaceId,
  { email_id, recipient }: Pick<TrackedDelivery, 'email_id' | 'recipient'>,
  after: Date,
): Promise<{ at: Date; link: string }[]> {
  const { rows } = await sql<{ at: Date; link: string }>`
    select at, data->>'link' as link from email_events
    where workspace_id = ${workspaceId} and email_id = ${email_id} and status = 'clicked'
      and lower(recipient) = lower(${recipient}) and at > ${after} and data ? 'link'
    order by at, id
  `.execute(trx)
  return rows
}

/** How many opens and clicks of a recipient are stored, up to `max`. */
export async function countTracked(
  trx: Trx,
  workspaceId: WorkspaceId,
  { email_id, recipient }: Pick<TrackedDelivery, 'email_id' | 'recipient'>,
  max: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from email_events
      where workspace_id = ${workspaceId} and email_id = ${email_id} and recipient = ${recipient}
        and status in ('opened', 'clicked')
      limit ${max}
    ) as tracked
  `.execute(trx)
  return rows[0]?.count ?? 0
}
