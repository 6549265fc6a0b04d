// Answers for test addresses in the place of a mail server: no message is composed, and nothing leaves.
import { transact } from '../commands/transact.ts'
import type { ClaimedDelivery } from '../db/deliveries/claim.ts'
import { releaseDeliveries } from '../db/deliveries/leases.ts'
import { markDataSent } from '../db/deliveries/mark.ts'
import { type Settlement, settleDeliveries } from '../db/deliveries/settle.ts'
import { insertTestVisits, type TestVisit, wasRefused } from '../db/deliveries/testAnswers.ts'
import { readBeginnings } from '../db/emails/contents.ts'
import { tellOfComplaint } from '../db/webhooks/complaints.ts'
import { ownUrlRule } from '../mail/tracking/ownUrls.ts'
import { planTracking } from '../mail/tracking/rewrite.ts'
import type { Outcome } from '../mail/transport.ts'
import { addressDomain } from '../rules/addresses.ts'
import { limits } from '../rules/limits.ts'
import { isTestAddress, type TestName, testNameOf, testNames } from '../rules/mail/testAddresses.ts'
import { createTrace, toAttempt } from './attemptRow.ts'
import type { DeliveryDeps } from './deps.ts'
import type { LaneLeases } from './lane/leases.ts'
import type { Outcomes } from './lane/outcomes.ts'
import { createSureWriter } from './lane/settleSurely.ts'
import { toSettlement } from './nextState.ts'

/** How much of a body is looked through for its first link. */
const LINK_CHARS_MAX = 256 * 1024
/** A longer one is cut: it is stored and told for each recipient. */
const LINK = new RegExp(`\\bhttps?://[^\\s<>"']{1,${limits.trackedUrlCharsMax}}`, 'i')

/** Who opens and clicks, by what they show. The address is one of those kept for documentation (RFC 5737). */
const VISITOR = { ip: '192.0.2.1', user_agent: 'Dripline test address' }

type Refused = Extract<Outcome, { kind: 'rejected' }>
type Taken = Extract<Outcome, { kind: 'delivered' }>

const refused = (code: number, enhanced: string, text: string): Refused => {
  const reply = `${code} ${enhanced} ${text}`
  return { kind: 'rejected', phase: 'rcpt', code, enhanced, reply }
}

const taken: Taken = { kind: 'delivered', reply: '250 2.0.0 taken by a test address' }
const deferred = refused(451, '4.3.0', 'deferred by a test address, try again in 5 seconds')
const bounced = refused(550, '5.0.0', 'bounced by a test address')
const unknown = refused(
  550,
  '5.0.0',
  `not a test address: these are ${testNames.map((name) => `${name}@`).join(' ')}`,
)

/** Whether the lane answers for a delivery: as its row says, and where that says nothing, as the setting of this worker does. */
export const isSimulated = (
  { simulated, recipient }: Pick<ClaimedDelivery, 'simulated' | 'recipient'>,
  simulatorDomain: string,
): boolean => simulated ?? isTestAddress(recipient, simulatorDomain)

/** What a delivery was taken for, and what follows it. */
interface Answer {
  id: number
  delivery: ClaimedDelivery
  settlement: Settlement
  visit: TestVisit | null
  isComplaint: boolean
}

/**
 * Makes the function that answers for the test address of a claimed delivery, and settles it. A delivery that is taken is
 * marked and settled, with what follows, in one commit: so a worker that dies leaves all of it or nothing, and no outcome is
 * ever unknown.
 */
export function createTestAnswers(
  deps: DeliveryDeps,
  { leases, outcomes }: { leases: LaneLeases; outcomes: Outcomes },
  settleSurely: (settlement: Settlement) => Promise<void>,
) {
  const { db, now, config } = deps
  const writeSurely = createSureWriter<Answer>(deps, outcomes, (group) =>
    writeAnswers(deps, leases, group),
  )

  return async (delivery: ClaimedDelivery): Promise<void> => {
    const at = now()
    const name = testNameOf(delivery.recipient)
    if (name === 'suppressed') return settleSurely(asSuppressed(delivery, at))
    const isRefused = name === 'deferred' && !(await wasRefused(db, delivery.id))
    const outcome = isRefused ? deferred : outcomeOf(name)
    const settlement = settlementOf(delivery, outcome, { at, config })
    if (!settlement) return
    if (outcome.kind === 'rejected') return settleSurely(settlement)
    await writeSurely({
      id: delivery.id,
      delivery,
      settlement,
      visit: await visitOf(deps, name, delivery, at),
      isComplaint: name === 'complained',
    })
  }
}

const outcomeOf = (name: TestName | null): Refused | Taken => {
  if (name === null) return unknown
  return name === 'bounced' ? bounced : taken
}

/** As the reply of a server would settle it; but it suppresses nobody, and refuses for good what it does not defer. */
function settlementOf(
  delivery: ClaimedDelivery,
  outcome: Refused | Taken,
  { at, config }: { at: Date; config: DeliveryDeps['config'] },
): Settlement | null {
  const settlement = toSettlement(outcome, {
    delivery,
    acceptedAt: delivery.created_at.getTime(),
    now: at.getTime(),
    reportingMta: config.ehloName,
    resendUnknown: false,
    random: 0.5,
    ofRelay: false,
  })
  if (!settlement) return null
  const lines = [{ at_ms: 0, from: 'server', text: outcome.reply } as const]
  const trace = { ...createTrace(), host: testDomainOf(delivery), lines }
  const times = { attempt: delivery.attempt, startedAt: at, endedAt: at }
  return { ...settlement, suppress: 'no', attempt: toAttempt(outcome, trace, times) }
}

const testDomainOf = ({ recipient }: Pick<ClaimedDelivery, 'recipient'>) =>
  addressDomain(recipient).toLowerCase()

/** As a claim settles what is on the suppression list: without an attempt. */
function asSuppressed({ id, resent }: ClaimedDelivery, at: Date): Settlement {
  const data = { type: 'Permanent', subtype: 'OnAccountSuppressionList' }
  const nothing = { nextAt: null, response: null, suppress: 'no', attempt: null } as const
  const event = { status: 'bounced', at, data } as const
  return { ...nothing, id, resent, state: 'suppressed', counted: false, event }
}

async function visitOf(
  deps: DeliveryDeps,
  name: TestName | null,
  delivery: ClaimedDelivery,
  at: Date,
): Promise<TestVisit | null> {
  const { id } = delivery
  if (name === 'opened') return { id, status: 'opened', at, data: VISITOR }
  if (name !== 'clicked') return null
  const link = await firstLink(deps, delivery)
  return { id, status: 'clicked', at, data: { link, ...VISITOR } }
}

/** The first link of a mail that click tracking would follow, else one in its text, else a made one: a click always has one. */
async function firstLink(
  { db, config }: DeliveryDeps,
  delivery: Pick<ClaimedDelivery, 'email_id' | 'recipient'>,
): Promise<string> {
  const email = await readBeginnings(db, delivery.email_id, LINK_CHARS_MAX)
  const isOwnUrl = ownUrlRule({
    publicUrl: config.publicUrl,
    trackingHost: email?.tracking_host ?? null,
    leaveToken: email?.unsubscribe_token ?? null,
  })
  const plan = planTracking(email?.html ?? '', { opens: false, clicks: true, isOwnUrl })
  const [inText] = LINK.exec(email?.text ?? '') ?? []
  return plan.urls[0] ?? inText ?? `https://${testDomainOf(delivery)}/`
}

/** Marks and settles deliveries that were taken, with what follows, in one commit. It locks them by id, at once, and passes over none. */
async function writeAnswers(
  deps: DeliveryDeps,
  { token, owner }: LaneLeases,
  group: Answer[],
): Promise<ReadonlySet<number>> {
  await transact(deps, async ({ db: trx, wake, now }) => {
    const at = now()
    const ids = group.map(({ id }) => id)
    const marked = await markDataSent(trx, ids, token, at, owner)
    // Who left meanwhile, or another lane's: the next claim settles it.
    const lost = group.filter(({ id }) => !marked.has(id))
    if (lost.length > 0) {
      const back = lost.map(({ delivery }) => delivery)
      await releaseDeliveries(trx, back, token)
    }
    const own = group.filter(({ id }) => marked.has(id))
    if (own.length === 0) return
    const settlements = own.map(({ settlement }) => settlement)
    const { hasMailEvents } = await settleDeliveries(trx, settlements, token, at)
    const visits = own.flatMap(({ visit }) => visit ?? [])
    let isTold = await insertTestVisits(trx, visits, at)
    for (const { delivery, isComplaint } of own) {
      if (!isComplaint) continue
      const { id: deliveryId, email_id: emailId, workspace_id } = delivery
      const email = delivery.recipient.toLowerCase()
      const told = { deliveryId, emailId, email, at }
      isTold = (await tellOfComplaint(trx, workspace_id, told)) || isTold
    }
    if (hasMailEvents || isTold) wake('dripline_mail_events')
  })
  return new Set()
}
