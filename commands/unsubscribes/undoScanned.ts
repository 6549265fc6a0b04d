// Undoes an unsubscription that a scanner made by following the links of an email, in the caller's transaction.

import type { Trx } from '../../db/connect.ts'
import { lockContact } from '../../db/contacts/writes.ts'
import { findUnconfirmedContact } from '../../db/unsubscribes/reads.ts'
import { deleteUnconfirmed } from '../../db/unsubscribes/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

/** Undoes it only if a GET after `after` made it and nothing has confirmed it since. */
export async function undoScannedUnsubscribe(
  { db: trx }: { db: Trx },
  workspaceId: WorkspaceId,
  { emailId, after }: { emailId: string; after: Date },
): Promise<void> {
  const contactId = await findUnconfirmedContact(trx, workspaceId, emailId, after)
  if (contactId === undefined) return
  await lockContact(trx, workspaceId, contactId)
  await deleteUnconfirmed(trx, workspaceId, emailId)
}
