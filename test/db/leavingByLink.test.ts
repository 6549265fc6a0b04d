// A GET of an unsubscribe link puts off for a minute what it stops, so that a scanner costs nobody a mail or an execution.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { settleDueLeaves } from '../../commands/unsubscribes/settleDue.ts'
import { clickToken } from '../../mail/tracking/tokens.ts'
import { createTestApi } from '../setup/api.ts'
import { createLeavers, type Waiting, type WaitingMail } from '../setup/leavers.ts'
import { bringTo } from '../setup/states.ts'
import { storeLinks } from '../setup/trackedMail.ts'

let time = Date.UTC(2026, 0, 1)
const api = await createTestApi({ now: () => new Date(time) })
const { db, deps } = api
const { mail, leaver, waiting, claim, outcome, visit, isCancelled } = await createLeavers(api)
const at = () => new Date(time)
const MINUTE_MS = 60_000
const UNSUBSCRIBED = 'cancelled, Permanent Unsubscribed'

beforeEach(async () => {
  time += 60 * MINUTE_MS
  await sql`truncate deliveries, outbox`.execute(db)
})

/** Claims what is due. @returns the ids */
const claimed = async () => (await claim()).map(({ id }) => id).sort((a, b) => a - b)
const settleDue = () =>
  settleDueLeaves(deps, (err) => {
    throw err
  })

/** Follows three links of a delivered mail within a moment, as a scanner does. */
async function scan({ emailId, deliveryId }: WaitingMail) {
  const urls = [0, 1, 2].map((i) => `https://x.test/${i}`)
  await storeLinks(deps, [{ email_id: emailId, urls }])
  const mac = deps.secrets.mac('tracking')
  for (const i of [0, 1, 2]) await api.app.request(`/t/c/${clickToken(mac, deliveryId, i)}`)
}
/** The mail whose link is followed: it has arrived. */
async function arrived() {
  const one = await waiting()
  const read = await mail(one)
  await bringTo(db, { ids: [read.deliveryId] }, 'delivered', at())
  return { ...one, read }
}
const own = (one: Waiting) => [one.queued.deliveryId, one.deferred.deliveryId]

test('puts mail and executions off for a minute, then settles and cancels them', async () => {
  const one = await arrived()
  await visit('GET', one.read)
  expect(await claimed()).toEqual([one.foreign.deliveryId, one.receipt.deliveryId])
  expect(await Promise.all(own(one).map(outcome))).toEqual(['queued', 'deferred'])
  expect(await one.begin()).toEqual([])
  time += MINUTE_MS - 1
  expect(await settleDue()).toMatchObject({ due: 0 })
  expect(await claimed()).toEqual([])
  expect(await isCancelled(one)).toBe(false)
  time += 1
  expect(await settleDue()).toMatchObject({ due: 1 })
  expect(await isCancelled(one)).toBe(true)
  expect(await Promise.all(own(one).map(outcome))).toEqual([UNSUBSCRIBED, UNSUBSCRIBED])
  expect(await settleDue()).toMatchObject({ due: 0 })
})

test('a claim that comes before the worker, a minute later, settles it too', async () => {
  const one = await arrived()
  await visit('GET', one.read)
  time += MINUTE_MS
  await claimed()
  expect(await outcome(one.queued.deliveryId)).toBe(UNSUBSCRIBED)
  await settleDue()
  expect(await isCancelled(one)).toBe(true)
})

test.each([
  ['their undo', (one: Waiting & { read: WaitingMail }) => visit('POST', one.read, '/undo')],
  ['a scanner that shows itself', (one: Waiting & { read: WaitingMail }) => scan(one.read)],
])('%s costs neither mail nor execution', async (_name, undo) => {
  const one = await arrived()
  time += 30_000
  await visit('GET', one.read)
  await claimed()
  time += 4_000
  const written = await mail(one)
  expect(await claimed()).toEqual([])
  await undo(one)
  const back = [...own(one), written.deliveryId].sort((a, b) => a - b)
  expect(await claimed()).toEqual(back)
  time += 10 * MINUTE_MS
  expect(await settleDue()).toMatchObject({ due: 0 })
  expect(await isCancelled(one)).toBe(false)
  expect(await one.begin()).toHaveLength(1)
})

test('an undo after the minute lets new executions in, and brings back nothing', async () => {
  const one = await arrived()
  await visit('GET', one.read)
  time += MINUTE_MS
  await settleDue()
  await visit('POST', one.read, '/undo')
  expect(await isCancelled(one)).toBe(true)
  expect(await outcome(one.queued.deliveryId)).toBe(UNSUBSCRIBED)
  expect(await one.begin()).toHaveLength(1)
})

test('skip_sends settles the mail and lets executions go on', async () => {
  const one = await leaver({ on_unsubscribe: 'skip_sends' })
  const queued = await mail(one)
  const read = await mail(one)
  await bringTo(db, { ids: [read.deliveryId] }, 'delivered', at())
  await visit('GET', read)
  time += MINUTE_MS
  await settleDue()
  expect(await outcome(queued.deliveryId)).toBe(UNSUBSCRIBED)
  expect(await isCancelled(one)).toBe(false)
})

test.each([
  ['skip_sends', 'cancel'],
  ['cancel', 'skip_sends'],
])(
  'a mail of a version that says %s leaves executions of one that says %s by what theirs says',
  async (first, then) => {
    for (const method of ['GET', 'POST']) {
      const one = await leaver({ on_unsubscribe: first })
      const read = await mail(one)
      await bringTo(db, { ids: [read.deliveryId] }, 'delivered', at())
      const path = `/v1/workflows/${one.workflowId}`
      const { body } = await api.request<{ design: object }>('GET', path)
      const settings = { on_unsubscribe: then }
      const changed = await api.request('PATCH', path, { design: { ...body.design, settings } })
      expect(changed.status).toBe(200)
      const [executionId = ''] = await one.begin()
      await visit(method, read)
      time += MINUTE_MS
      await settleDue()
      expect([await isCancelled(one), await isCancelled({ executionId })]).toEqual([
        first === 'cancel',
        then === 'cancel',
      ])
    }
  },
)

test('of the foreign workflow stops the mail of that one alone', async () => {
  const one = await waiting()
  await visit('GET', one.foreign)
  expect(await claimed()).toEqual([...own(one), one.receipt.deliveryId].sort((a, b) => a - b))
})

test('a contact that somebody holds keeps nobody else waiting', async () => {
  const [held, free] = [await arrived(), await arrived()]
  for (const { read } of [held, free]) await visit('GET', read)
  time += MINUTE_MS
  await db.transaction().execute(async (trx) => {
    await sql`select from contacts where email = ${held.email} for update`.execute(trx)
    await settleDue()
    expect([await isCancelled(held), await isCancelled(free)]).toEqual([false, true])
  })
  time += MINUTE_MS
  await settleDue()
  expect(await isCancelled(held)).toBe(true)
})

test('a leave that its holder takes back at this moment is passed over', async () => {
  const one = await arrived()
  await visit('GET', one.read)
  time += MINUTE_MS
  await db.transaction().execute(async (trx) => {
    await sql`select from contacts where email = ${one.email} for update`.execute(trx)
    await sql`delete from outbox where kind = 'leave'`.execute(trx)
    expect(await settleDue()).toEqual({ due: 1, isMore: false })
  })
})

/** The same person, with two mails of the workflow, whose links were followed. */
async function followedBoth() {
  const one = await arrived()
  const read = await mail(one)
  await bringTo(db, { ids: [read.deliveryId] }, 'delivered', at())
  time += 30_000
  await visit('GET', one.read)
  time += 2_000
  expect((await visit('GET', read)).text).toContain('unsubscribed')
  return { one, mails: [one.read, read] as const }
}

test.each([[0], [1]] as const)(
  'of two mails, a scanner in mail %i alone undoes nothing',
  async (scanned) => {
    const { one, mails } = await followedBoth()
    await scan(mails[scanned])
    expect(await one.begin()).toEqual([])
    time += MINUTE_MS
    await settleDue()
    expect(await isCancelled(one)).toBe(true)
  },
)

test.each([
  [0, 1],
  [1, 0],
] as const)('of two mails, a scanner in both, %i first, costs nothing', async (first, second) => {
  const { one, mails } = await followedBoth()
  await claimed()
  await scan(mails[first])
  time += 4_000
  await scan(mails[second])
  time += MINUTE_MS
  expect(await settleDue()).toMatchObject({ due: 0 })
  expect(await isCancelled(one)).toBe(false)
  expect(await one.begin()).toHaveLength(1)
  expect(await claimed()).toEqual(expect.arrayContaining(own(one)))
})

test('a mail whose clicks showed a scanner adds nothing by its link, and asks', async () => {
  const one = await arrived()
  const read = await mail(one)
  await bringTo(db, { ids: [read.deliveryId] }, 'delivered', at())
  time += 30_000
  await visit('GET', one.read)
  await scan(read)
  expect((await visit('GET', read)).text).toContain('Unsubscribe?')
  await scan(one.read)
  expect(await one.begin()).toHaveLength(1)
})
