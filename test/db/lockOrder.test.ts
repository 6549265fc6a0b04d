// Statements on several deliveries lock them in the order of their ids, or pass over those that are locked: none ends another with a deadlock.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import type { Trx } from '../../db/connect.ts'
import { extendLeases, releaseDeliveries } from '../../db/deliveries/leases.ts'
import { markDataSent } from '../../db/deliveries/mark.ts'
import { type Settlement, settleDeliveries } from '../../db/deliveries/settle.ts'
import { placeDeliveries } from '../../db/domains/warmUp.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { claimInTrx } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { allLines, queueDeliveries } from '../setup/queue.ts'

const { db } = await createTestDatabase()
const TOKEN = '00000000-0000-0000-0000-000000000001'
const now = () => new Date()
const later = () => new Date(Date.now() + 60_000)
const trx = db as unknown as Trx

let ids: number[]

/** Three deliveries under way, by their ids. */
beforeEach(async () => {
  await sql`truncate deliveries restart identity`.execute(db)
  const workspaceId = 'ws_1' as WorkspaceId
  const times = { dueAt: now(), expiresAt: later() }
  await queueDeliveries(db, { workspaceId, domainId: 'dom_1', count: 3, ...times })
  const shards = { from: 0, to: 64 }
  const lease = { leaseToken: TOKEN, leaseMs: 60_000, now: later() }
  const claimed = await claimInTrx(trx, {
    ...allLines(3, shards),
    ...lease,
  })
  ids = claimed.deliveries.map(({ id }) => id).sort((a, b) => a - b)
  expect(ids).toHaveLength(3)
})

const settlement = (id: number): Settlement => ({
  id,
  state: 'deferred',
  nextAt: later(),
  response: null,
  resent: 0,
  counted: true,
  event: null,
  suppress: 'no',
  attempt: null,
})

const settle = (which: number[]) => settleDeliveries(trx, which.map(settlement), TOKEN, now())

const place = (id: number) => ({
  id,
  was: 'queued' as const,
  slot_day: '2026-01-01',
  next_at: null,
  expires_at: null,
})

const mark = (which: number[]) => markDataSent(trx, which, TOKEN, now())

/** Each takes ids in the order in which the caller has them. */
const statements: Record<string, (which: number[]) => Promise<unknown>> = {
  mark,
  release: (which) =>
    releaseDeliveries(
      trx,
      which.map((id) => ({ id, was: 'queued' as const })),
      TOKEN,
    ),
  place: (which) => placeDeliveries(trx, which.map(place), TOKEN, 'it waits'),
}

/** How many statements of this database wait for a lock. */
async function waiting(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows[0]?.count ?? 0
}

// While somebody holds the delivery in the middle, the first statement has the first delivery and waits for the middle
// one; the mark comes with the last and the first, in this order.
test.each(Object.keys(statements))('%s and a mark that comes in another order', async (name) => {
  const [first = 0, middle = 0, last = 0] = ids
  const running: Promise<unknown>[] = []
  await db.transaction().execute(async (holder) => {
    await sql`select from deliveries where id = ${middle} for update`.execute(holder)
    running.push(statements[name]?.([first, middle, last]) ?? Promise.reject(new Error(name)))
    await eventually(async () => expect(await waiting()).toBe(1))
    running.push(mark([last, first]))
    await eventually(async () => expect(await waiting()).toBe(2))
  })
  const ended = await Promise.allSettled(running)
  expect(ended.filter(({ status }) => status === 'rejected')).toEqual([])
})

test('extended leases and settlements wait for no delivery', async () => {
  const [first = 0, middle = 0, last = 0] = ids
  await db.transaction().execute(async (holder) => {
    await sql`select from deliveries where id = ${middle} for update`.execute(holder)
    const extended = await extendLeases(trx, [last, middle, first], TOKEN, 60_000)
    expect(extended).toEqual(new Set([first, last]))
    const settled = await settle([last, middle, first])
    expect(settled.deliveries.map(({ id }) => id).sort((a, b) => a - b)).toEqual([first, last])
    expect(settled.held).toEqual([middle])
  })
  expect(await settle([middle, first])).toMatchObject({ deliveries: [{ id: middle }], held: [] })
})
