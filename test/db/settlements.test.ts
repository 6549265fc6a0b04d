// Settlements follow the table of states, do nothing if a row has changed meanwhile, and wait for no contact.

import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { takeReport } from '../../commands/reports/take.ts'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import { extendLeases } from '../../db/deliveries/leases.ts'
import { markDataSent } from '../../db/deliveries/mark.ts'
import { type Settlement, settleDeliveries } from '../../db/deliveries/settle.ts'
import { settle as settleGroup } from '../../delivery/lane/settle.ts'
import { writeGroupOrEach } from '../../delivery/writeGroupOrEach.ts'
import { underWayStates } from '../../rules/states.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { claimInTrx } from '../setup/claims.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { holdContact } from '../setup/mailEvents.ts'
import { allLines, endLeases } from '../setup/queue.ts'
import { bringTo } from '../setup/states.ts'
import { uniqueName } from '../setup/unique.ts'

const LEASE = '00000000-0000-0000-0000-000000000001'
const LEASE_MS = 60_000
let time = Date.UTC(2126, 0, 1)
const api = await createTestApi({ now: () => new Date(time) })
const { db, deps } = api
await insertTestDomain(api, 'sender.test')
beforeEach(() => {
  time += 10 * LEASE_MS
})

const at = (ms = 0) => new Date(time + ms)
const inOne = <T>(work: (trx: Trx) => Promise<T>) => transact.one(deps, (inTrx) => work(inTrx.db))

/** An email whose delivery a lane has claimed. */
async function claimed(to = `${uniqueName('r')}@example.test`) {
  const mail = { from: 'a@sender.test', to, subject: 'S', text: 'T' }
  const { body } = await api.request<{ id: string }>('POST', '/v1/emails', mail)
  const [id = 0] = await bringTo(db, { emailId: body.id }, 'queued', at())
  await inOne((trx) =>
    claimInTrx(trx, {
      ...allLines(100),
      leaseToken: LEASE,
      leaseMs: LEASE_MS,
      now: at(),
    }),
  )
  return { id, to }
}

const mark = (id: number) => inOne((trx) => markDataSent(trx, [id], LEASE, at()))
const settle = (settlement: Settlement, lease: string | null = LEASE) =>
  inOne((trx) => settleDeliveries(trx, [settlement], lease, at()))
const nothing = { deliveries: [], hasMailEvents: false, held: [] }

const end = (id: number, over: Partial<Settlement>): Settlement => ({
  id,
  state: 'delivered',
  nextAt: null,
  response: '250 ok',
  resent: 0,
  counted: true,
  event: { status: 'delivered', at: at(), data: {} },
  suppress: 'no',
  attempt: null,
  ...over,
})
const backInQueue = { state: 'queued', event: null, nextAt: new Date(0) } as const

const stateOf = async (id: number) =>
  (await db.selectFrom('deliveries').select('state').where('id', '=', id).executeTakeFirstOrThrow())
    .state

test('a delivery that is marked after it was found expired is not sent again', async () => {
  const { id } = await claimed()
  await mark(id)
  await endLeases(db, [id])
  // Found in `sending`: whoever takes it over assumes that no dot was sent.
  expect(await settle(end(id, { ...backInQueue, leaves: 'sending' }), null)).toEqual(nothing)
  expect(await stateOf(id)).toBe('data_sent')
})

test('an expired lease cannot mark', async () => {
  const { id } = await claimed()
  await endLeases(db, [id])
  expect(await mark(id)).toEqual(new Set())
  await inOne((trx) => extendLeases(trx, [id], LEASE, LEASE_MS))
  expect(await mark(id)).toEqual(new Set([id]))
})

test('a valid lease is not enough to settle: the table of states must allow the move', async () => {
  const { id } = await claimed()
  expect(await settle(end(id, {}))).toEqual(nothing)
  expect(await stateOf(id)).toBe('sending')
  await mark(id)
  expect(await settle(end(id, {}))).toMatchObject({ deliveries: [{ id }], hasMailEvents: false })
  expect(await stateOf(id)).toBe('delivered')
  expect(underWayStates).not.toContain('delivered')
  expect(await settle(end(id, backInQueue), null)).toEqual(nothing)
})

test('a settlement writes the mail event of a contact and does not wait for the contact', async () => {
  const { id, to } = await claimed()
  await api.request('POST', '/v1/automation/events', { event_name: 'seen', email: to })
  await mark(id)
  await holdContact(api.url, to, async () => {
    expect(await settle(end(id, {}))).toMatchObject({ deliveries: [{ id }], hasMailEvents: true })
  })
  const waiting = await db.selectFrom('outbox').select(['kind', 'payload']).execute()
  expect(waiting).toMatchObject([{ kind: 'mail_event', payload: { delivery_id: id, data: {} } }])
})

test('an outcome that Postgres refuses does not stop the others', async () => {
  const mails = [await claimed(), await claimed(), await claimed()]
  for (const { id } of mails) await mark(id)
  const group = mails.map(({ id }, i) => end(id, i === 1 ? { response: 'a\u0000b' } : {}))
  const faults = await writeGroupOrEach(group, (some) => settleGroup(deps, some, LEASE))
  expect(faults.map((fault) => fault === undefined)).toEqual([true, false, true])
  expect(await Promise.all(mails.map(({ id }) => stateOf(id)))).toEqual([
    'delivered',
    'data_sent',
    'delivered',
  ])
})

/** Makes a claimed email one of a workflow, with an unsubscribe link. */
async function giveToWorkflow(deliveryId: number, to: string): Promise<void> {
  const eventName = uniqueName('joined')
  const flow = design({ start: onEvent(eventName), end: ['exit', {}] }, [['start', 'end']])
  await insertFlow(db, api, flow)
  await api.request('POST', '/v1/automation/events', { event_name: eventName, email: to })
  const token = uniqueName('token')
  await sql`
    update emails m set workflow_id = x.workflow_id, execution_id = x.id, unsubscribe_token = ${token}
    from executions x, deliveries d where x.email = ${to} and d.id = ${deliveryId} and m.id = d.email_id
  `.execute(db)
}

test('a complaint that waits for a locked contact does not delay settlements of its email or to its address', async () => {
  const { id, to } = await claimed()
  const other = await claimed(to)
  await giveToWorkflow(id, to)
  await mark(id)
  const report = { kind: 'complaint', feedbackType: 'abuse' } as const
  const taken = await holdContact(api.url, to, async () => {
    const complaint = takeReport(deps, id, report)
    await untilWaiting(db, 1)
    const settled = await transact(deps, async ({ db: trx }) => {
      await sql`set local lock_timeout = '2s'`.execute(trx)
      const gone = { state: 'bounced', event: null, suppress: 'for_good' } as const
      return settleDeliveries(trx, [end(id, {}), end(other.id, gone)], LEASE, at())
    })
    expect(settled.deliveries).toHaveLength(2)
    return { complaint }
  })
  expect(await taken.complaint).toBe('taken')
  const left = db.selectFrom('opt_outs').select(['scope', 'source'])
  const theirs = left.where('address_hmac', '=', deps.addressMac(api.workspaceId, to))
  expect(await theirs.execute()).toEqual([{ scope: 'workflow', source: 'complaint' }])
})

test('the trigger of the tests refuses every move that the table lacks', async () => {
  const { id } = await claimed()
  const force = (state: 'delivered') =>
    db.updateTable('deliveries').set({ state, settled_at: at() }).where('id', '=', id).execute()
  await expect(force('delivered')).rejects.toThrow('moved from sending to delivered')
})
