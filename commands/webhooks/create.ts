// Makes a webhook: an endpoint of the customer's that is told of events.
import { countWebhooks } from '../../db/webhooks/reads.ts'
import { insertWebhook, lockWebhooks } from '../../db/webhooks/writes.ts'
import { limits } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { webhookFault } from './check.ts'
import { makeWebhookSecret } from './secret.ts'

export interface CreateWebhookInput {
  url: string
  events: string[]
  description?: string | null | undefined
}

type Deps = Pick<CommandDeps, 'db' | 'secrets' | 'newId' | 'now' | 'wake' | 'config'>

/**
 * It is told of events that are written from the commit on. One of a caller who is bound to a domain gets the events of that domain.
 * @returns its id, and the secret, which nobody can read again
 */
export async function createWebhook(
  deps: Deps,
  { workspaceId, domainId }: Reach,
  { url, events, description }: CreateWebhookInput,
): Promise<
  | { id: string; secret: string }
  | Refusal<'webhook_url_refused' | 'webhook_event_unknown' | 'too_many_webhooks'>
> {
  const fault = webhookFault(deps, { url, events })
  if (fault) return fault
  const secret = makeWebhookSecret(deps.secrets)
  return transact(deps, async ({ db, newId, now }) => {
    await lockWebhooks(db, workspaceId)
    const count = await countWebhooks(db, workspaceId)
    if (count >= limits.webhooksMax) return refuse('too_many_webhooks', {})
    const id = newId('webhook')
    const at = now()
    const row = {
      id,
      domain_id: domainId,
      url,
      events: [...new Set(events)],
      description: description ?? null,
      status: 'enabled' as const,
      disabled_reason: null,
      created_at: at,
      updated_at: at,
    }
    await insertWebhook(db, workspaceId, row, secret.encrypted)
    return { id, secret: secret.shown }
  })
}
