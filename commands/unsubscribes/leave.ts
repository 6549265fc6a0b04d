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
import { lockReturned } from './returned.ts'

/**
 * Writes the opt-out, which blocks new executions and further marketing mail from this commit on, and records
 * `email.unsubscribed`. Running executions are cancelled (but those whose version says `skip_sends`) and waiting mail is
 * settled: at once, or after a GET when the minute is over in which a scanner may show itself. May be repeated. A
 * certain unsubscription confirms an unconfirmed one. Of somebody who was erased it writes the opt-out
 * and counts it; if they have come back, it ends what runs for the contact who they are now (`returned.ts`).
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
  const workflowId = mail.workflow_id
  const own = await lockContact(trx, workspaceId, mail.contact_id)
  // Whoever was erased may still leave by the mail that they have. If nobody has their address now, nothing of theirs goes on
  // that would have to be ended. A GET ends nothing of theirs: of such mail it is not known any more what a scanner fetches.
  const contact = own ?? (unconfirmed ? undefined : await lockReturned(deps, workspaceId, mail))
  const hmac = contact ? deps.addressMac(workspaceId, contact.email) : mail.hmac
  if (!hmac) return
  const id = newId('optOut')
  const [scope, target_id] = ['workflow', workflowId] as const
  const unconfirmed_email_id = unconfirmed ? mail.id : null
  const row = { id, scope, target_id, address_hmac: hmac, source, unconfirmed_email_id }
  const left = { scope, targetId: target_id, hmac }
  const wasUnconfirmed = !unconfirmed && (await confirmOptOut(trx, workspaceId, left, source))
  const written = await insertOptOuts(trx, workspaceId, [{ ...row, created_at: at }])
  const isNew = written.has(id)
  const isConfirmed = wasUnconfirmed || (!unconfirmed && isNew)
  const cancels = (mail.design as Design).settings?.on_unsubscribe !== 'skip_sends'
  // An event counts for the recipient of its email, and of that one nobody knows the recipient any more.
  if (!own && isNew) await countUnsubscribe(trx, workspaceId, { emailId: mail.id, at })
  if (!contact) return
  const who = { workflowId, contactId: contact.id }
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
  const theirs = { ...mail, email_id: mail.id, email: contact.email }
  await recordMailEvent(sameMoment, theirs, { name: 'unsubscribed', at })
}
