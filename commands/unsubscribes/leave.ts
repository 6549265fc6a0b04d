// Unsubscribes a contact from the workflow that sent them an email, in the caller's transaction.
import { lockContact } from '../../db/contacts/writes.ts'
import { insertLeave, takeLeave } from '../../db/opt-outs/leaves.ts'
import { confirmOptOut, insertOptOuts, type OptOutSource } from '../../db/opt-outs/writes.ts'
import { countUnsubscribe } from '../../db/stats/unsubscribes.ts'
import type { UnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import type { Design } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { scanWindowEnd } from '../../rules/mail/machines.ts'
import type { RecordDeps } from '../events/record.ts'
import { recordMailEvent } from '../events/recordMail.ts'
import { carryOutLeave } from './carryOut.ts'
import { noteFurtherGet } from './furtherGets.ts'

/**
 * Writes the opt-out, which blocks new executions and further marketing mail from this commit on, and records
 * `email.unsubscribed`. Running executions are cancelled (but those whose version says `skip_sends`) and waiting mail is
 * settled: at once, or after a GET when the minute is over in which a scanner may show itself. May be repeated. A
 * certain unsubscription confirms an unconfirmed one. Of whoever was erased it writes the opt-out, and counts it.
 * @param unconfirmed true after a GET of the link, which a scanner may have made: clicks on the email's other
 * links then undo it
 */
export async function leaveWorkflow(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  {
    mail,
    source,
    unconfirmed = false,
  }: { mail: UnsubscribeMail; source: OptOutSource; unconfirmed?: boolean },
): Promise<void> {
  const { db: trx, newId } = deps
  const at = deps.now()
  const who = { workflowId: mail.workflow_id, contactId: mail.contact_id }
  const contact = await lockContact(trx, workspaceId, who.contactId)
  // Whoever was erased may still leave by the mail that they have. Nothing of theirs goes on that would have to be ended.
  const hmac = contact ? deps.addressMac(workspaceId, contact.email) : mail.hmac
  if (!hmac) return
  const id = newId('optOut')
  const [scope, target_id] = ['workflow', who.workflowId] as const
  const unconfirmed_email_id = unconfirmed ? mail.id : null
  const row = { id, scope, target_id, address_hmac: hmac, source, unconfirmed_email_id }
  const left = { scope, targetId: target_id, hmac }
  const wasUnconfirmed = !unconfirmed && (await confirmOptOut(trx, workspaceId, left, source))
  const written = await insertOptOuts(trx, workspaceId, [{ ...row, created_at: at }])
  const isNew = written.has(id)
  const isConfirmed = wasUnconfirmed || (!unconfirmed && isNew)
  const cancels = (mail.design as Design).settings?.on_unsubscribe !== 'skip_sends'
  if (!contact) {
    // Nothing is recorded by which it would be counted.
    if (isNew) await countUnsubscribe(trx, workspaceId, { emailId: mail.id, at })
    return
  }
  if (isConfirmed) {
    await takeLeave(trx, workspaceId, who)
    await carryOutLeave(deps, workspaceId, { ...who, email: contact.email }, at)
  }
  if (!isNew && unconfirmed) {
    await noteFurtherGet(trx, workspaceId, { who, hmac, cancels }, { emailId: mail.id, at })
  }
  if (!isNew) return
  if (unconfirmed) {
    await insertLeave(trx, workspaceId, who, { cancels, dueAt: scanWindowEnd(at), now: at })
  }
  const sameMoment = { ...deps, now: () => at }
  await recordMailEvent(sameMoment, { ...mail, email_id: mail.id }, { name: 'unsubscribed', at })
}
