// GETs of the links of several emails of one workflow. Each may be a person's, so the opt-out stands until clicks have shown
// for each of them that a scanner made it.
import type { Trx } from '../../db/connect.ts'
import { lockContact } from '../../db/contacts/writes.ts'
import {
  type FurtherGet,
  findFurtherGets,
  insertLeave,
  type Leaver,
  setFurtherGets,
} from '../../db/opt-outs/leaves.ts'
import { findLeaver, findLeft, type UnconfirmedLeave } from '../../db/opt-outs/reads.ts'
import { passToGet } from '../../db/opt-outs/writes.ts'
import { countUnsubscribe } from '../../db/stats/unsubscribes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { scanWindowEnd } from '../../rules/mail/machines.ts'

/** Notes a GET beside the one that made the opt-out, while that may be undone. The caller holds the contact's lock. */
export async function noteFurtherGet(
  trx: Trx,
  workspaceId: WorkspaceId,
  { who, hmac, cancels }: { who: Leaver; hmac: Buffer; cancels: boolean },
  get: FurtherGet,
): Promise<void> {
  const left = await findLeft(trx, workspaceId, { workflowId: who.workflowId, hmac })
  const emailId = left?.unconfirmed_email_id ?? null
  if (!left || emailId === null || emailId === get.emailId) return
  if (scanWindowEnd(left.created_at) <= get.at) return
  const further = await findFurtherGets(trx, workspaceId, who)
  if (further?.some((one) => one.emailId === get.emailId)) return
  // An API of the release before made it, and has carried it out.
  if (!further) {
    await insertLeave(trx, workspaceId, who, { cancels, dueAt: scanWindowEnd(get.at), now: get.at })
  }
  await setFurtherGets(trx, workspaceId, who, [...(further ?? []), get])
}

/** Leaves the opt-out to the next GET, now that a scanner made this one. @returns false if there is no other */
export async function passOn(
  trx: Trx,
  workspaceId: WorkspaceId,
  { id, workflow_id: workflowId, contact_id: contactId }: UnconfirmedLeave,
): Promise<boolean> {
  const who = { workflowId, contactId }
  const [next, ...rest] = (await findFurtherGets(trx, workspaceId, who)) ?? []
  if (!next) return false
  await passToGet(trx, workspaceId, id, next)
  await countUnsubscribe(trx, workspaceId, next)
  await setFurtherGets(trx, workspaceId, who, rest, scanWindowEnd(next.at))
  return true
}

/** Forgets a GET of that email's link that made no opt-out, because a scanner made it. */
export async function forgetFurtherGet(
  trx: Trx,
  workspaceId: WorkspaceId,
  emailId: string,
): Promise<void> {
  const leaver = await findLeaver(trx, workspaceId, emailId)
  if (!leaver) return
  const who = { workflowId: leaver.workflow_id, contactId: leaver.contact_id }
  await lockContact(trx, workspaceId, who.contactId)
  const further = await findFurtherGets(trx, workspaceId, who)
  if (!further?.some((one) => one.emailId === emailId)) return
  const others = further.filter((one) => one.emailId !== emailId)
  await setFurtherGets(trx, workspaceId, who, others)
}
