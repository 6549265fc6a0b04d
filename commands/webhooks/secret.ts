// Makes the secret with which a webhook's requests are signed.
import { randomBytes } from 'node:crypto'
import type { Secrets } from '../../runtime/secrets.ts'

const SECRET_BYTES = 32

/** @returns `shown` as Standard Webhooks writes it, for the caller and nobody after; `encrypted` for its row */
export function makeWebhookSecret(secrets: Pick<Secrets, 'encrypt'>): {
  shown: string
  encrypted: Buffer
} {
  const secret = randomBytes(SECRET_BYTES)
  return {
    shown: `whsec_${secret.toString('base64')}`,
    encrypted: secrets.encrypt('webhook', secret),
  }
}
