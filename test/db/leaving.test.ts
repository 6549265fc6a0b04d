// Who left while mail waited gets none of it, by every way of leaving; receipts still go.
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { takeUnsubscribe } from '../../commands/unsubscribes/takeMail.ts'
import { createTestApi } from '../setup/api.ts'
import { createLeavers, type Waiting } from '../setup/leavers.ts'
import { bringTo } from '../setup/states.ts'

let time = Date.UTC(2026, 0, 1)
const api = await createTestApi({ now: () => new Date(time) })
const { db, deps, workspaceId } = api
const { mail, waiting, claim, outcome, visit, report, delivered } = await createLeavers(api)
const at = () => new Date(time)
const MINUTE_MS = 60_000

const UNSUBSCRIBED = 'cancelled, Permanent Unsubscribed'
const CANCELLED = 'cancelled, Permanent Cancelled'
const SUPPRESSED = 'suppressed, Permanent OnAccountSuppressionList'

beforeEach(async () => {
  time += 60 * MINUTE_MS
  await sql`truncate deliveries, outbox`.execute(db)
})

/** Claims what is due. @returns the ids */
const claimed = async () => (await claim()).map(({ id }) => id).sort((a, b) => a - b)
const mailEvents = () =>
  db.selectFrom('outbox').select('id').where('kind', '=', 'mail_event').execute()

/** Ways of leaving that act at once, with what becomes of queued and deferred mail, of another workflow's, and of receipts. */
const ways: Record<
  string,
  [act: (one: Waiting) => Promise<unknown>, own: string, foreign: string, receipt: string]
> = {
  'one-click POST': [(one) => visit('POST', one.queued), UNSUBSCRIBED, 'sending', 'sending'],
  'GET and then POST': [
    async (one) => {
      await visit('GET', one.queued)
      await visit('POST', one.deferred)
    },
    UNSUBSCRIBED,
    'sending',
    'sending',
  ],
  'mail to the unsubscribe address': [
    (one) => takeUnsubscribe(deps, one.queued.token),
    UNSUBSCRIBED,
    'sending',
    'sending',
  ],
  'suppression by hand': [
    (one) => api.request('POST', '/v1/suppressions', { email: one.email }),
    SUPPRESSED,
    SUPPRESSED,
    SUPPRESSED,
  ],
  'permanent bounce of another mail': [
    async (one) => expect(await report(await delivered(one), 'bounce')).toBe('taken'),
    SUPPRESSED,
    SUPPRESSED,
    SUPPRESSED,
  ],
  'complaint about another mail': [
    async (one) => expect(await report(await delivered(one), 'complaint')).toBe('taken'),
    UNSUBSCRIBED,
    SUPPRESSED,
    SUPPRESSED,
  ],
  'cancel of the execution': [
    (one) => api.request('POST', `/v1/executions/${one.executionId}/cancel`),
    CANCELLED,
    'sending',
    'sending',
  ],
}

describe.each(Object.entries(ways))('%s', (_name, [act, own, foreign, receipt]) => {
  test('what was scheduled before it is not sent when its time comes', async () => {
    const one = await waiting()
    const due = new Date(time + 2 * 24 * 60 * MINUTE_MS)
    const ids = [one.queued, one.foreign, one.receipt].map(({ deliveryId }) => deliveryId)
    await sql`update deliveries set ready = false, scheduled = true, next_at = ${due}, due_at = ${due},
      expires_at = ${due}::timestamptz + interval '1 day' where id = any(${ids}::bigint[])`.execute(
      db,
    )
    await act(one)
    time = due.getTime()
    await claimed()
    // What is both left and suppressed says so: the look asks for suppressions first.
    const ownThen = receipt === SUPPRESSED ? SUPPRESSED : own
    expect(await Promise.all(ids.map(outcome))).toEqual([ownThen, foreign, receipt])
  })

  test('settles what waits in its own commit, and wakes no workflow by it', async () => {
    const one = await waiting()
    await act(one)
    expect(await outcome(one.queued.deliveryId)).toBe(own)
    expect(await outcome(one.deferred.deliveryId)).toBe(own)
    const told = await mailEvents()
    await claimed()
    expect(await outcome(one.foreign.deliveryId)).toBe(foreign)
    expect(await outcome(one.receipt.deliveryId)).toBe(receipt)
    expect(await mailEvents()).toEqual(told)
    const counted = db.selectFrom('soft_bounces').select('day').where('email', '=', one.email)
    expect(await counted.execute()).toEqual([])
  })

  test('the claim settles what was under way at that moment and comes back', async () => {
    const one = await waiting()
    const theirs = [one.queued, one.deferred].map(({ deliveryId }) => deliveryId)
    await claim()
    await act(one)
    expect(await outcome(one.queued.deliveryId)).toBe('sending')
    await bringTo(db, { ids: theirs }, 'deferred', at())
    time += MINUTE_MS
    for (const id of await claimed()) expect(theirs).not.toContain(id)
    const settled = await Promise.all(theirs.map(outcome))
    // A complaint suppresses too, and the look says the stronger of the two.
    const wanted = receipt === SUPPRESSED ? SUPPRESSED : own
    expect(settled).toEqual([wanted, wanted])
    const { attempt } = await db
      .selectFrom('deliveries')
      .select('attempt')
      .where('id', '=', one.queued.deliveryId)
      .executeTakeFirstOrThrow()
    expect(attempt).toBe(1)
  })
})

test('the claim stops mail that was accepted before the leave and written after it', async () => {
  const one = await waiting()
  await visit('POST', one.queued)
  const late = await mail(one)
  expect(await claimed()).not.toContain(late.deliveryId)
  expect(await outcome(late.deliveryId)).toBe(UNSUBSCRIBED)
})

test('an expired suppression stops nothing, and another workspace stops nothing', async () => {
  const one = await waiting()
  const row = { reason: 'bounce', source_id: null, created_at: at() } as const
  await db
    .insertInto('suppressions')
    .values([
      { ...row, workspace_id: workspaceId, email: one.email, expires_at: at() },
      { ...row, workspace_id: 'ws_other' as never, email: one.email, expires_at: null },
    ])
    .execute()
  expect(await claimed()).toHaveLength(4)
})
