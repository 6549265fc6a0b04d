// Contacts in a workflow with mail that waits, and claims as a lane makes them.

import { randomUUID } from 'node:crypto'
import { newEmail } from '../../commands/emails/newEmail.ts'
import { writeEmail } from '../../commands/emails/write.ts'
import { takeReport } from '../../commands/reports/take.ts'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import { readyDue } from '../../db/deliveries/ready.ts'
import { newOpaqueToken } from '../../mail/tracking/tokens.ts'
import { type createTestApi, insertTestDomain } from './api.ts'
import { claimInTrx } from './claims.ts'
import { allLines } from './queue.ts'
import { bringTo } from './states.ts'
import { uniqueName } from './unique.ts'
import { createWorkflowClient, exitDesign } from './workflowClient.ts'

export interface Leaver {
  email: string
  workflowId: string
  executionId: string
  /** Posts the event that starts an execution. @returns the ids of those that it started */
  begin(): Promise<string[]>
}

export interface WaitingMail {
  emailId: string
  deliveryId: number
  token: string
  /** Deliveries of the copies for the team. */
  copyIds: number[]
}

/** A contact with queued and deferred marketing mail, mail of another workflow, and a receipt. */
export interface Waiting extends Leaver {
  queued: WaitingMail
  deferred: WaitingMail
  foreign: WaitingMail
  receipt: WaitingMail
}

/** @param api its clock is the test's; `sender.test` becomes a verified domain of it */
export async function createLeavers(api: Awaited<ReturnType<typeof createTestApi>>) {
  const { db, deps, workspaceId } = api
  const domainId = await insertTestDomain(api, 'sender.test')
  const domain = {
    id: domainId,
    name: 'sender.test',
    status: 'SUCCESS' as const,
    tracking_host: null,
    open_tracking_enabled: false,
    click_tracking_enabled: false,
  }
  const { create } = createWorkflowClient(api)

  /** Writes marketing mail as a segment does, or a receipt; due now. @param more `team`: it goes to them and not to the contact */
  async function mail(
    to: Omit<Leaver, 'begin'>,
    category: 'marketing' | 'transactional' = 'marketing',
    more: { html?: string | null; cc?: string[]; team?: string[] } = {},
  ): Promise<WaitingMail> {
    const { html = null, cc = [], team = [] } = more
    const shown = team.length === 0 ? [to.email] : team
    const token = newOpaqueToken()
    const email = newEmail(deps, {
      category,
      from: 'a@sender.test',
      to: shown,
      cc,
      replyTo: [],
      content: { subject: 'Hello', html, text: 'x' },
      templateId: null,
      domain,
      domainName: domain.name,
      sentBy: { workflowId: to.workflowId, executionId: to.executionId, nodeId: 'send' },
      unsubscribeToken: token,
      recipients: [...shown, ...cc],
      team: [...team, ...cc],
    })
    await transact.one({ ...deps, wake: () => undefined }, (inTrx) =>
      writeEmail(inTrx, workspaceId, email, []),
    )
    const rows = await db
      .selectFrom('deliveries')
      .select('id')
      .where('email_id', '=', email.row.id)
      .orderBy('id')
      .execute()
    const [deliveryId = 0, ...copyIds] = rows.map(({ id }) => id)
    return { emailId: email.row.id, deliveryId, token, copyIds }
  }

  /** A contact with a running execution. */
  async function leaver(
    settings: object = {},
    email = `${uniqueName('c')}@example.test`,
  ): Promise<Leaver> {
    const eventName = uniqueName('begun')
    const design = { ...exitDesign(eventName), settings }
    const { workflow_id: workflowId } = await create({ status: 'active', design })
    const begin = async () => {
      const event = { event_name: eventName, email }
      const path = '/v1/automation/events'
      return (await api.request<{ executions: string[] }>('POST', path, event)).body.executions
    }
    const [executionId = ''] = await begin()
    return { email, workflowId, executionId, begin }
  }

  /** Claims everything that is due. */
  const claim = async (leaseToken: string = randomUUID()): Promise<ClaimedDelivery[]> => {
    const shards = { from: 0, to: 64 }
    const inOne = <T>(work: (trx: Trx) => Promise<T>) =>
      transact.one({ db, wake: () => undefined }, (inTrx) => work(inTrx.db))
    await inOne((trx) =>
      readyDue(trx, shards, deps.now(), { perShard: 1_000, rights: deps.config }),
    )
    return (
      await inOne((trx) =>
        claimInTrx(trx, {
          ...allLines(200, shards),
          leaseToken,
          leaseMs: 60_000,
          now: deps.now(),
        }),
      )
    ).deliveries
  }

  /** The state of a delivery, and the subtype of its bounce. */
  async function outcome(deliveryId: number): Promise<string> {
    const row = await db
      .selectFrom('deliveries as d')
      .leftJoin('email_events as v', (join) =>
        join
          .onRef('v.email_id', '=', 'd.email_id')
          .onRef('v.recipient', '=', 'd.recipient')
          .on('v.status', '=', 'bounced'),
      )
      .select(['d.state', 'v.data'])
      .where('d.id', '=', deliveryId)
      .executeTakeFirstOrThrow()
    return row.data ? `${row.state}, ${row.data['type']} ${row.data['subtype']}` : row.state
  }

  const visit = (method: string, { token }: WaitingMail, more = '') =>
    api.request(method, `/u/${token}${more}`, undefined, { authorization: '' })

  const isCancelled = async ({ executionId }: Pick<Leaver, 'executionId'>) => {
    const row = await db
      .selectFrom('executions')
      .select('ended_status')
      .where('id', '=', executionId)
      .executeTakeFirstOrThrow()
    return row.ended_status === 'CANCELLED'
  }

  /** A contact with queued and deferred marketing mail of two workflows, and a receipt. */
  async function waiting(): Promise<Waiting> {
    const one = await leaver()
    const other = await leaver({}, one.email)
    const queued = await mail(one)
    const deferred = await mail(one)
    await bringTo(db, { ids: [deferred.deliveryId] }, 'deferred', deps.now())
    const foreign = await mail(other)
    const receipt = await mail(one, 'transactional')
    return { ...one, queued, deferred, foreign, receipt }
  }

  /** Takes a report about a delivery, as the listener does. */
  const report = (id: number, kind: 'bounce' | 'complaint') =>
    takeReport(
      deps,
      id,
      kind === 'complaint'
        ? { kind, feedbackType: 'abuse' }
        : {
            kind,
            status: '5.1.1',
            bounce: { type: 'Permanent', subtype: 'NoEmail', final: true, fault: 'recipient' },
          },
    )

  /** Another mail to the address that was delivered, for a report about it. */
  async function delivered(one: Omit<Leaver, 'begin'>): Promise<number> {
    const { deliveryId } = await mail(one)
    await bringTo(db, { ids: [deliveryId] }, 'delivered', deps.now())
    return deliveryId
  }

  return { mail, leaver, waiting, claim, outcome, visit, report, delivered, isCancelled }
}
