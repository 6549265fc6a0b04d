// Who sends a message that a test gives to the receiver of submitted mail.
import type { RequestKey } from '../../commands/api-keys/keyCache.ts'

/** For a receiver that asks for nothing ahead. */
export const askNothingAhead = {
  askAhead: () => {
    throw new Error('nobody is expectedFrom')
  },
}

/** A session that has sent nothing yet, and names no sender. */
export const sendingOf = (keyNow: () => Promise<RequestKey>) => ({
  keyNow,
  recipients: ['ada@example.test'],
  expectedFrom: null,
  noteFrom: () => undefined,
})
