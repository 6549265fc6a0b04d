// Settles mail that waits for addresses which a lane has just suppressed.
import { stopWaiting } from '../../db/deliveries/stop.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/**
 * A commit of its own, after that of the suppressions: until then, and if this fails, the claim's look stops the mail.
 * @param emails in any case
 */
export function settleSuppressed(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  { emails }: { emails: readonly string[] },
): Promise<number> {
  const mail = { emails: emails.map((email) => email.toLowerCase()) }
  return transact.one(deps, ({ db, now }) =>
    stopWaiting(db, workspaceId, mail, 'suppressed', now()),
  )
}
