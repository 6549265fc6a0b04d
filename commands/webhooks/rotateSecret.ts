// Gives a webhook a new secret; the one of before stays valid for a day.
import { rotateWebhookSecret } from '../../db/webhooks/writes.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { makeWebhookSecret } from './secret.ts'

/** @returns the new secret, which nobody can read again */
export function rotateSecret(
  deps: Pick<CommandDeps, 'db' | 'secrets' | 'now' | 'wake'>,
  reach: Reach,
  { id }: { id: string },
): Promise<string | Refusal<'webhook_not_found'>> {
  const { shown, encrypted: secret } = makeWebhookSecret(deps.secrets)
  return transact(deps, async ({ db, now }) => {
    const at = now()
    const until = new Date(at.getTime() + limits.webhookSecretGraceMs)
    const isThere =
      isId('webhook', id) && (await rotateWebhookSecret(db, reach, id, { secret, until, now: at }))
    return isThere ? shown : refuse('webhook_not_found', { id })
  })
}
