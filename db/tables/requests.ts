// The table of the answers that are kept for requests with an Idempotency-Key.
import type { WorkspaceId } from '../../rules/ids.ts'

export interface IdempotencyKeysTable {
  workspace_id: WorkspaceId
  /** SHA-256 of the key, the path and the domain that the API key is bound to, 32 bytes. */
  key_hash: Buffer
  /** HMAC-SHA256 of the request's query and body, whose key is the Idempotency-Key: 32 bytes. */
  fingerprint: Buffer
  /** 2xx */
  status: number
  /** JSON; '' for none. */
  body: string
  created_at: Date
}
