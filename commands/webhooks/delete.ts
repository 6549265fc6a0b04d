// Deletes a webhook: nothing is sent to it from now on.
import { deleteWebhookRow } from '../../db/webhooks/writes.ts'
import { isId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** Its secrets and deliveries go later (delivery/webhooks/housekeeping.ts). */
export function deleteWebhook(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  reach: Reach,
  { id }: { id: string },
): Promise<undefined | Refusal<'webhook_not_found'>> {
  return transact.one(deps, async ({ db, now }) => {
    const isDeleted = isId('webhook', id) && (await deleteWebhookRow(db, reach, id, now()))
    return isDeleted ? undefined : refuse('webhook_not_found', { id })
  })
}
