// Writes an email with its deliveries, and records `email.sent` for automation contacts, in the caller's
// transaction.

import { insertEmail, type NewEmail } from '../../db/emails/insert.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { RecordDeps } from '../events/record.ts'
import { recordSentMail } from '../events/recordMail.ts'

/** A recipient who is an automation contact. */
export interface ToldContact {
  /** In lower case. */
  email: string
  /** Chain depth of the execution that sends the email; absent if none does. */
  chainDepth?: number
}

/**
 * Without contacts this is one statement, for which `transact.one` is enough (`groups.ts`).
 * @param contacts in the order of their ids, because each is locked
 */
export async function writeEmail(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  email: NewEmail,
  contacts: ToldContact[],
): Promise<void> {
  const { row } = email
  // Before the statement: if its connection breaks, nobody knows whether it was committed, and the wake-up is sent.
  deps.wake('dripline_deliveries')
  const macs =
    row.category === 'marketing'
      ? email.recipients.map((address) => deps.addressMac(workspaceId, address))
      : []
  await insertEmail(deps.db, workspaceId, email, macs)
  const at = row.created_at
  for (const contact of contacts) {
    const mail = {
      workspace_id: workspaceId,
      email: contact.email,
      email_id: row.id,
      subject: row.subject,
      workflow_id: row.workflow_id,
      execution_id: row.execution_id,
      node_id: row.node_id,
      chain_depth: contact.chainDepth,
    }
    await recordSentMail({ ...deps, now: () => at }, mail, at)
  }
}
