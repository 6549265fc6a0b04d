// Stores bounces and complaints that arrived by mail, one commit each. A repeated report changes nothing.
import type { Trx } from '../../db/connect.ts'
import { insertMailEvent } from '../../db/deliveries/mailEvents.ts'
import { findReportedDelivery, type ReportedDelivery } from '../../db/deliveries/reads.ts'
import { stopWaiting } from '../../db/deliveries/stop.ts'
import { bounceDelivery, lockReportedDelivery } from '../../db/deliveries/writes.ts'
import { findUnsubscribeToken } from '../../db/emails/reads.ts'
import { suppressErased } from '../../db/suppressions/erased.ts'
import { recordSoftBounce } from '../../db/suppressions/softBounces.ts'
import { upsertSuppression } from '../../db/suppressions/writes.ts'
import { lockMailTracking } from '../../db/tracking/writes.ts'
import { findUnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import { tellOfComplaint } from '../../db/webhooks/complaints.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import { type Bounce, suppressionBy } from '../../rules/mail/bounceRules.ts'
import type { InboundReport } from '../../rules/mail/inboundReport.ts'
import { type DeliveryState, isUnderWay, mayMove } from '../../rules/states.ts'
import { unsubscribeFromAudiences } from '../audiences/leaveAll.ts'
import type { CommandDeps } from '../deps.ts'
import { type InTrx, transact } from '../transact.ts'
import { leaveWorkflow } from '../unsubscribes/leave.ts'

/**
 * `taken`: committed. `known`: committed before, or nothing was sent to that recipient. `under_way`: the delivery
 * is not settled yet, so the sender should send the report again later. `ignored`: the report changes nothing.
 */
export type Taken = 'taken' | 'known' | 'under_way' | 'ignored'

type Deps = Pick<CommandDeps, 'db' | 'now' | 'newId' | 'wake' | 'addressMac'>

/**
 * Stores what a report says about the delivery that its return path names. A bounce changes the delivery, adds an
 * email event, may suppress the address, and adds a mail event for the contact. A complaint suppresses and
 * unsubscribes.
 * @throws if the database cannot be reached; nothing was written then
 */
export async function takeReport(
  deps: Deps,
  deliveryId: number,
  report: InboundReport,
): Promise<Taken> {
  if (report.kind === 'nothing') return 'ignored'
  return transact(deps, (inTrx) =>
    report.kind === 'bounce'
      ? takeBounce(inTrx, deliveryId, report.bounce)
      : takeComplaint(inTrx, deliveryId),
  )
}

async function takeBounce(
  { db: trx, now, wake }: InTrx<Deps>,
  deliveryId: number,
  bounce: Bounce,
): Promise<Taken> {
  const delivery = await lockReportedDelivery(trx, deliveryId)
  if (!delivery) return 'ignored'
  const early = whyNot(delivery.state)
  if (early) return early
  const at = now()
  const { type, subtype } = bounce
  if (!(await bounceDelivery(trx, delivery, { type, subtype }, at))) return 'known'
  const { workspace_id: workspaceId, email_id: emailId } = delivery
  const email = addressOf(delivery)
  const suppression = suppressionBy(bounce)
  if (suppression === 'for_good') await suppressFor(trx, delivery, 'bounce', at)
  if (email !== null && suppression === 'soft') {
    await recordSoftBounce(trx, { workspaceId, email, emailId, at })
  }
  const event = { name: 'bounced', at, data: { type, subtype } } as const
  if (await insertMailEvent(trx, workspaceId, delivery.id, event, at)) wake('dripline_mail_events')
  return 'taken'
}

/** Why a delivery in that state cannot bounce now; null if it can. */
function whyNot(state: DeliveryState): Taken | null {
  // Its lane is about to store the server's reply, which must come first.
  if (isUnderWay(state)) return 'under_way'
  return mayMove(state, 'bounced') ? null : 'known'
}

/**
 * Locks audiences before the contact, like every change of audiences. It may have to wait for the contact's lock,
 * so it must not hold locks that a settlement needs: it locks no delivery, and writes the suppression last.
 */
async function takeComplaint(deps: InTrx<Deps>, deliveryId: number): Promise<Taken> {
  const { db: trx } = deps
  const found = await findReportedDelivery(trx, deliveryId)
  if (!found) return 'ignored'
  // Who erases the recipient holds it too: read before it, their address would be written again.
  await lockMailTracking(trx, found.email_id)
  const delivery = await findReportedDelivery(trx, deliveryId)
  if (!delivery) return 'ignored'
  const at = deps.now()
  const { workspace_id, email_id } = delivery
  const email = addressOf(delivery)
  if (email !== null)
    await unsubscribeFromAudiences(deps, workspace_id, { email, source: 'complaint' }, at)
  // Whoever of the team complains has not spoken for the contact.
  const token = delivery.to_team ? null : await findUnsubscribeToken(trx, workspace_id, email_id)
  const mail = token === null ? undefined : await findUnsubscribeMail(trx, token)
  if (mail)
    await leaveWorkflow({ ...deps, now: () => at }, workspace_id, { mail, source: 'complaint' })
  await suppressFor(trx, delivery, 'complaint', at)
  const told = { deliveryId, emailId: email_id, email: email ?? delivery.recipient, at }
  if (await tellOfComplaint(trx, workspace_id, told)) deps.wake('dripline_mail_events')
  return 'taken'
}

/** The recipient's address in lower case; null if it was erased in the meantime. */
const addressOf = ({ recipient }: ReportedDelivery) => normalizeContactEmail(recipient)

/**
 * What waits for the address is settled first: whoever settles deliveries locks them before suppressions. An erased address is suppressed
 * by its HMAC; what waits for it the claim finds by that.
 */
async function suppressFor(
  trx: Trx,
  delivery: ReportedDelivery,
  reason: 'bounce' | 'complaint',
  now: Date,
): Promise<void> {
  const { workspace_id, email_id } = delivery
  const email = addressOf(delivery)
  if (email === null) {
    const address_hmac = delivery.own_hmac ?? delivery.address_hmac
    if (!address_hmac) return
    const erased = { address_hmac, reason, source_id: email_id, created_at: now, expires_at: null }
    await suppressErased(trx, workspace_id, erased)
    return
  }
  await stopWaiting(trx, workspace_id, { emails: [email] }, 'suppressed', now)
  const row = { email, reason, source_id: email_id, expires_at: null }
  await upsertSuppression(trx, workspace_id, row, now)
}
