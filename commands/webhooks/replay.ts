// Sends one delivery of a webhook again, with the same webhook-id.
import { findWebhook } from '../../db/webhooks/reads.ts'
import { replayWebhookDelivery } from '../../db/webhooks/writes.ts'
import { isId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import { toUuid } from '../../rules/webhooks/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** Whatever its state: it is pending and due from now on, with all tries before it. @returns the delivery's id, a uuid */
export function replayDelivery(
  deps: Pick<CommandDeps, 'db' | 'wake'>,
  reach: Reach,
  { id, deliveryId }: { id: string; deliveryId: string },
): Promise<string | Refusal<'webhook_not_found' | 'webhook_delivery_not_found'>> {
  return transact(deps, async ({ db }) => {
    const webhook = isId('webhook', id) ? await findWebhook(db, reach, id) : undefined
    if (!webhook) return refuse('webhook_not_found', { id })
    const uuid = toUuid('webhookDelivery', deliveryId)
    const isThere = uuid !== null && (await replayWebhookDelivery(db, reach.workspaceId, id, uuid))
    return isThere ? uuid : refuse('webhook_delivery_not_found', { id: deliveryId })
  })
}
