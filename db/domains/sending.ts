// Reads what mail takes from the domain that it is sent from.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { maySendFrom } from '../../rules/states.ts'
import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'

/** What mail takes from the domain that it is sent from. */
export type SendingDomain = Pick<
  Row<'domains'>,
  'id' | 'status' | 'open_tracking_enabled' | 'click_tracking_enabled'
> & {
  /** Host of links and pixel; null: the public URL's. */
  tracking_host: string | null
}

/** The tracking domain once its CNAME was seen: links to a name that leads nowhere would be dead. */
export const trackingHost = sql<string | null>`
  case when record_states ->> 'tracking' = 'SUCCESS' then tracking_domain end`

export type SegmentDomain = SendingDomain & { name: string; verified: boolean }

/** The workspace's domains of those names, and whether each may send. */
export async function listSendingDomains(db: Db, workspaceId: WorkspaceId, names: string[]) {
  if (names.length === 0) return new Map<string, SegmentDomain>()
  const rows = await db
    .selectFrom('domains')
    .select(['id', 'name', 'status', 'open_tracking_enabled', 'click_tracking_enabled'])
    .select(trackingHost.as('tracking_host'))
    .where('workspace_id', '=', workspaceId)
    .where('name', 'in', names)
    .where('deleted_at', 'is', null)
    .execute()
  return new Map(rows.map((row) => [row.name, { ...row, verified: maySendFrom(row.status) }]))
}
