// Unsubscribes a contact from the workflow whose mail they hold, in the caller's transaction.
import { lockContact } from '../../db/contacts/writes.ts'
import { cancelExecutions } from '../../db/executions/writes.ts'
import type { UnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import { confirmUnsubscribe, insertUnsubscribe } from '../../db/unsubscribes/writes.ts'
import type { Design } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { RecordDeps } from '../events/record.ts'
import { recordMailEvent } from '../events/recordMail.ts'

const REASON = { code: 'unsubscribed', reason: 'unsubscribed' } as const

/**
 * Leaves: new executions are blocked, running ones are cancelled unless the workflow is to skip its sends alone, and
 * `email.unsubscribed` is recorded. May repeat; one that is sure confirms one that was not.
 * @param unconfirmed a GET of the link did it, which a scanner may have made: fetches of the mail's other links undo it
 */
export async function leaveWorkflow(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  { mail, unconfirmed = false }: { mail: UnsubscribeMail; unconfirmed?: boolean },
): Promise<void> {
  const { db: trx, wake } = deps
  const at = deps.now()
  const who = { workflowId: mail.workflow_id, contactId: mail.contact_id }
  if (!(await lockContact(trx, workspaceId, who.contactId))) return
  if (!(await insertUnsubscribe(trx, workspaceId, who, unconfirmed ? mail.id : null, at))) {
    if (!unconfirmed) await confirmUnsubscribe(trx, workspaceId, who)
    return
  }
  const { settings } = mail.design as Design
  if (settings?.on_unsubscribe !== 'skip_sends') {
    const cancelled = await cancelExecutions(trx, workspaceId, who, REASON, at)
    if (cancelled.length > 0) wake('dripline_outbox')
  }
  const sameMoment = { ...deps, now: () => at }
  await recordMailEvent(sameMoment, { ...mail, email_id: mail.id }, { name: 'unsubscribed', at })
}
