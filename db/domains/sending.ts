// Reads the settings of a sending domain that an email takes over when it is accepted.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { maySendFrom } from '../../rules/states.ts'
import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'

/** The settings of a sending domain that an email takes over when it is accepted. */
export type SendingDomain = Pick<
  Row<'domains'>,
  'id' | 'status' | 'open_tracking_enabled' | 'click_tracking_enabled'
> & {
  /** Host of links and pixel; null: the public URL's. */
  tracking_host: string | null
}

/** SQL: the tracking domain if its CNAME was seen; without the record its links would lead nowhere. */
export const trackingHost = sql<string | null>`
  case when record_states ->> 'tracking' = 'SUCCESS' then tracking_domain end`

export type SegmentDomain = SendingDomain & { name: string; verified: boolean }

/** The workspace's domains with these names, and whether mail may be sent from each. */
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
