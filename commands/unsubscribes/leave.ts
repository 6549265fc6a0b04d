// Unsubscribes a contact from the workflow that sent them an email, in the caller's transaction.
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
 * Blocks new executions, cancels running ones (unless the design says `skip_sends`), and records
 * `email.unsubscribed`. May be repeated. A certain unsubscription confirms an unconfirmed one.
 * @param unconfirmed true after a GET of the link, which a scanner may have made: clicks on the email's other
 * links then undo it
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
