// Unsubscribes a contact from the workflow whose mail he holds, in the caller's transaction.
import type { Trx } from '../../db/connect.ts'
import { lockContact } from '../../db/contacts/writes.ts'
import { cancelExecutions } from '../../db/executions/writes.ts'
import type { UnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import { insertUnsubscribe } from '../../db/unsubscribes/writes.ts'
import type { Design } from '../../rules/design/types.ts'
import type { NewId } from '../../rules/ids.ts'
import { recordMailEvent } from '../events/recordMail.ts'

const REASON = 'unsubscribed'

/**
 * Leaves: new executions are blocked, running ones are cancelled unless the workflow is to skip its sends alone, and
 * `email.unsubscribed` is recorded. May repeat.
 * @param unconfirmed a GET of the link did it, which a scanner may have made: fetches of the mail's other links undo it
 * @returns whether the outbox was written, so that its reader is to be woken after the commit
 */
export async function leaveWorkflow(
  trx: Trx,
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
