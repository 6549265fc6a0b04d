// Makes the headers of a request of a webhook, which sign its body as Standard Webhooks says.
import { createHmac, type KeyObject } from 'node:crypto'
import { toShownId } from '../../rules/webhooks/ids.ts'

/**
 * The headers of a request.
 * @param keys each of them signs, so that a receiver may know any one
 * @param now seconds are signed: receivers refuse what is minutes old
 */
export function webhookHeaders(
  { eventId, body }: { eventId: string; body: Buffer },
  keys: readonly KeyObject[],
  now: Date,
): Record<string, string> {
  const id = toShownId('webhookEvent', eventId)
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const sign = (key: KeyObject) =>
    createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  return {
    'content-type': 'application/json',
    'user-agent': 'Dripline',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => `v1,${sign(key)}`).join(' '),
  }
}
