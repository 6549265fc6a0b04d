// Reads the settings of a sending domain that an email takes over when it is accepted.

import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { maySendFrom, sendingStatuses } from '../../rules/states.ts'
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

/**
 * Whether an address is of a domain from which the workspace may send mail, or might once, also one that it has deleted; or of a domain above or
 * below it. One that was never verified says nothing: anybody may register any.
 * @param email in lower case
 */
export async function isOfSendingDomain(
  db: Db,
  workspaceId: WorkspaceId,
  email: string,
): Promise<boolean> {
  const domain = email.slice(email.lastIndexOf('@') + 1)
  const isBelow = (low: RawBuilder<unknown>, high: RawBuilder<unknown>) =>
    sql<boolean>`right(${low}, length(${high}) + 1) = '.' || ${high}`
  const [given, name] = [sql`${domain}::text`, sql.ref('name')]
  const row = await db
    .selectFrom('domains')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where((eb) => eb.or([eb('name', '=', domain), isBelow(given, name), isBelow(name, given)]))
    .where((eb) =>
      eb.or([eb('last_success_at', 'is not', null), eb('status', 'in', sendingStatuses)]),
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
