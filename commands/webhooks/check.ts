// Checks what a caller gives of a webhook: its URL, and the events that it asks for.
import { type Refusal, refuse } from '../../rules/refusals.ts'
import { isWebhookEvent } from '../../rules/webhooks/eventTypes.ts'
import { isWebhookUrl } from '../../rules/webhooks/url.ts'
import type { CommandDeps } from '../deps.ts'

/** Undefined is not checked. */
export function webhookFault(
  { config: { allowPrivateWebhooks: allowPrivate } }: Pick<CommandDeps, 'config'>,
  { url, events }: { url?: string | undefined; events?: readonly string[] | undefined },
): Refusal<'webhook_url_refused' | 'webhook_event_unknown'> | undefined {
  if (url !== undefined && !isWebhookUrl(url, { allowPrivate })) {
    return refuse('webhook_url_refused', { url, allowPrivate })
  }
  const event = events?.find((one) => !isWebhookEvent(one))
  return event === undefined ? undefined : refuse('webhook_event_unknown', { event })
}
