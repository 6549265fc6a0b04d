// Unsubscribes a contact from the workflow whose mail he holds, in the caller's transaction.
import type { Transaction } from 'kysely'
import type { Design } from '../domain/design.ts'
import type { NewId } from '../domain/ids.ts'
import { cancelExecutions } from './executions.ts'
import { recordMailEvent } from './recordMailEvent.ts'
import type { Database } from './schema.ts'
import { lockContact } from './segments.ts'
import { insertUnsubscribe, type UnsubscribeMail } from './workflowUnsubscribes.ts'

const REASON = 'unsubscribed'

/**
 * Leaves: new executions are blocked, running ones are cancelled unless the workflow is to skip its sends alone, and
 * `email.unsubscribed` is recorded. May repeat.
 * @param unconfirmed a GET of the link did it, which a scanner may have made: fetches of the mail's other links undo it
 * @returns whether the outbox was written, so that its reader is to be woken after the commit
 */
export async function leaveWorkflow(
  trx: Transaction<Database>,
  deps: { newId: NewId; now: Date },
  mail: UnsubscribeMail,
  unconfirmed = false,
): Promise<boolean> {
  if (!(await lockContact(trx, mail.contact_id))) return false
  if (!(await insertUnsubscribe(trx, mail, deps.now, unconfirmed))) return false
  const { settings } = mail.design as Design
  const whose = { workflowId: mail.workflow_id, contactId: mail.contact_id }
  const cancelled =
    settings?.on_unsubscribe === 'skip_sends'
      ? []
      : await cancelExecutions(trx, mail.workspace_id, whose, REASON, deps.now)
  const told = await recordMailEvent(
    trx,
    deps,
    { ...mail, email_id: mail.id },
    { name: 'unsubscribed', at: deps.now },
  )
  return cancelled.length > 0 || told
}
