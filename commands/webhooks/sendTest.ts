// Sends a webhook an event that says nothing but that it works.
import { findWebhook } from '../../db/webhooks/reads.ts'
import { insertWebhookEvent } from '../../db/webhooks/writes.ts'
import { isId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { toWebhookData } from './data.ts'

/** Writes `webhook.test` for this webhook alone, whatever it asks for. @returns the delivery's id, a uuid */
export function testWebhook(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  reach: Reach,
  { id }: { id: string },
): Promise<string | Refusal<'webhook_not_found'>> {
  return transact(deps, async ({ db, now }) => {
    const row = isId('webhook', id) ? await findWebhook(db, reach, id) : undefined
    if (!row) return refuse('webhook_not_found', { id })
    const event = { type: 'webhook.test', at: now(), data: toWebhookData(row) }
    return insertWebhookEvent(db, reach.workspaceId, id, event)
  })
}
