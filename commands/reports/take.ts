// Takes reports that came by mail into the ledger: each is one commit, and the same one again changes nothing.
import type { Trx } from '../../db/connect.ts'
import { listMailContacts } from '../../db/deliveries/mailContacts.ts'
import {
  bounceDelivery,
  lockReportedDelivery,
  type ReportedDelivery,
} from '../../db/deliveries/writes.ts'
import { findUnsubscribeToken } from '../../db/emails/reads.ts'
import { recordSoftBounce } from '../../db/suppressions/softBounces.ts'
import { upsertSuppression } from '../../db/suppressions/writes.ts'
import { findUnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import type { ActivityDeps } from '../../delivery/deps.ts'
import type { InboundReport } from '../../mail/reports/parseReport.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import type { Bounce } from '../../rules/mail/bounceRules.ts'
import { type DeliveryState, deliveryTransitions } from '../../rules/states.ts'
import { unsubscribeFromAudiences } from '../audiences/leaveAll.ts'
import { recordMailEvent } from '../events/recordMail.ts'
import { leaveWorkflow } from '../unsubscribes/leave.ts'

/**
 * `taken`: committed. `known`: it had been taken before, or nothing was sent there. `under_way`: the delivery is on
 * the wire, or was and is not settled yet; the report is to come again. `ignored`: nothing follows from it.
 */
export type Taken = 'taken' | 'known' | 'under_way' | 'ignored'

type Deps = Pick<ActivityDeps, 'db' | 'now' | 'newId' | 'wake'>

/**
 * Writes what a report says of the delivery that its return path names. A bounce: the delivery, its recipient's
 * event, the suppression, `email.bounced` for a contact. A complaint: suppressed, unsubscribed.
 * @throws when the database cannot be reached: nothing was written then
 */
export async function takeReport(
  deps: Deps,
  deliveryId: number,
  report: InboundReport,
): Promise<Taken> {
  if (report.kind === 'nothing') return 'ignored'
  const { taken, wake } = await deps.db
    .transaction()
    .execute((trx) =>
      report.kind === 'bounce'
        ? takeBounce(trx, deps, deliveryId, report.bounce)
        : takeComplaint(trx, deps, deliveryId),
    )
  if (wake) deps.wake('dripline_outbox')
  return taken
}

interface Outcome {
  taken: Taken
  /** The outbox was written. */
  wake: boolean
}

async function takeBounce(
  trx: Trx,
  deps: Deps,
  deliveryId: number,
  { type, subtype, suppress, ours }: Bounce,
): Promise<Outcome> {
  const delivery = await lockReportedDelivery(trx, deliveryId)
  if (!delivery) return { taken: 'ignored', wake: false }
  const early = whyNot(delivery.state)
  if (early) return { taken: early, wake: false }
  const now = deps.now()
  if (!(await bounceDelivery(trx, delivery, { type, subtype }, now))) {
    return { taken: 'known', wake: false }
  }
  const email = addressOf(delivery)
  if (email !== null && suppress) await suppressFor(trx, delivery, email, 'bounce', now)
  if (email !== null && type === 'Transient' && !ours) {
    const { workspace_id, email_id } = delivery
    await recordSoftBounce(trx, { workspaceId: workspace_id, email, emailId: email_id, at: now })
  }
  let wake = false
  for (const contact of await listMailContacts(trx, [delivery.id])) {
    const event = { name: 'bounced', at: now, data: { type, subtype } } as const
    const told = await recordMailEvent(trx, { newId: deps.newId, now }, contact, event)
    wake ||= told
  }
  return { taken: 'taken', wake }
}

/** Why a delivery in that state cannot bounce now; null when it can. */
function whyNot(state: DeliveryState): Taken | null {
  // Its lane holds it and is about to write what the server said: that comes first.
  if (state === 'sending' || state === 'data_sent') return 'under_way'
  const next: readonly DeliveryState[] = deliveryTransitions[state]
  return next.includes('bounced') ? null : 'known'
}

/** Locks audiences before the contact, as changes of audiences do. */
async function takeComplaint(trx: Trx, deps: Deps, deliveryId: number): Promise<Outcome> {
  const delivery = await lockReportedDelivery(trx, deliveryId)
  if (!delivery) return { taken: 'ignored', wake: false }
  const now = deps.now()
  const { workspace_id, email_id } = delivery
  const email = addressOf(delivery)
  if (email !== null) {
    await unsubscribeFromAudiences(trx, workspace_id, email, now)
    await suppressFor(trx, delivery, email, 'complaint', now)
  }
  const token = await findUnsubscribeToken(trx, workspace_id, email_id)
  const mail = token === null ? undefined : await findUnsubscribeMail(trx, token)
  const wake = mail ? await leaveWorkflow(trx, { newId: deps.newId, now }, mail) : false
  return { taken: 'taken', wake }
}

/** As suppressions and contacts know it; null when the address was erased since. */
const addressOf = ({ recipient }: ReportedDelivery) => normalizeContactEmail(recipient)

async function suppressFor(
  trx: Trx,
  { workspace_id, email_id }: ReportedDelivery,
  email: string,
  reason: 'bounce' | 'complaint',
  now: Date,
): Promise<void> {
  const row = { workspace_id, email, reason, source_id: email_id, expires_at: null }
  await upsertSuppression(trx, row, now)
}
