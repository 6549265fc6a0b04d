// Changes a webhook: its URL, the events that it asks for, its description, whether it is enabled.
import { updateWebhook as updateRow, type WebhookColumns } from '../../db/webhooks/writes.ts'
import { isId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { webhookFault } from './check.ts'

/** Undefined stays as it is. */
export type WebhookChange = WebhookColumns

/** What is pending goes to a new URL. `enabled` clears why it was disabled, and what was pending then goes on. */
export async function updateWebhook(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake' | 'config'>,
  reach: Reach,
  { id, change }: { id: string; change: WebhookChange },
): Promise<
  undefined | Refusal<'webhook_not_found' | 'webhook_url_refused' | 'webhook_event_unknown'>
> {
  const fault = webhookFault(deps, change)
  if (fault) return fault
  const events = change.events && [...new Set(change.events)]
  return transact(deps, async ({ db, now }) => {
    const isThere =
      isId('webhook', id) && (await updateRow(db, reach, id, { ...change, events }, now()))
    return isThere ? undefined : refuse('webhook_not_found', { id })
  })
}
