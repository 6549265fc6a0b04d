// Who sends a message that a test gives to the receiver of submitted mail.
import type { RequestKey } from '../../commands/api-keys/keyCache.ts'

/** A session, and whom its message is to. */
export const sendingOf = (keyNow: () => Promise<RequestKey>) => ({
  keyNow,
  recipients: ['ada@example.test'],
})
