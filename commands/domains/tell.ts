// Tells webhooks of a sending domain, in the transaction that changes it.
import { findDomain } from '../../db/domains/reads.ts'
import { tellWebhooks } from '../../db/webhooks/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'
import { toDomainItem } from './item.ts'

/** Says how the domain is now, so `deleted` comes before the deletion. */
export async function tellOfDomain(
  { db, now, config }: InTrx<Pick<CommandDeps, 'db' | 'now' | 'config'>>,
  workspaceId: WorkspaceId,
  id: string,
  change: 'created' | 'updated' | 'deleted',
): Promise<void> {
  const row = await findDomain(db, wholeWorkspace(workspaceId), id)
  if (!row) return
  const { user_email: email, user_first_name: first_name, user_last_name: last_name } = row
  const picture = `${config.publicUrl}/avatars/${row.created_by}.svg`
  const created_by = { email, first_name, last_name, profile_picture: picture }
  const data = { ...toDomainItem(row, config), created_by } as unknown as JsonObject
  await tellWebhooks(db, workspaceId, { type: `domain.${change}`, at: now(), data, domainId: id })
}
