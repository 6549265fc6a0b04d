// How a lane takes over what dead workers had under way: in bounded passes, one at a time, and one mail keeps no other from it.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { DeliveryDeps } from '../../delivery/deps.ts'
import { createRecovery } from '../../delivery/lane/expiredLeases.ts'
import { createLog } from '../../runtime/log.ts'
import { claimInTrx } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { now } from '../setup/harness.ts'
import { endLeases, queueAt } from '../setup/queue.ts'

const { db } = await createTestDatabase({ settings: { enable_seqscan: 'off' } })
const { queue, claimOf } = queueAt(db, new Date('2026-03-02T09:00:00Z'))
const wake = () => undefined
const config = { ehloName: 'mail.test', resendUnknown: true, deliveryMode: 'relay' }
const deps = { db, wake, now, log: createLog('lane', 'silent'), config } as unknown as DeliveryDeps

beforeEach(() => sql`truncate deliveries, delivery_claims`.execute(db))

/** Claims so many deliveries for a worker that is dead. @returns their ids */
async function claimDead(count: number): Promise<number[]> {
  await queue(count)
  const { deliveries } = await transact({ db, wake }, (inTrx) => claimInTrx(inTrx.db, claimOf()))
  const ids = deliveries.map(({ id }) => id)
  expect(ids).toHaveLength(count)
  await endLeases(db, ids)
  return ids
}

const underWay = async () =>
  (
    await db.selectFrom('deliveries').select('id').where('lease_until', 'is not', null).execute()
  ).map(({ id }) => id)
const notes = async () => (await db.selectFrom('delivery_claims').select('id').execute()).length
const recovery = () => createRecovery(deps, { from: 0, to: 64 })

test('a pass forgets ten thousand notes and finds expired leases behind all that are left', async () => {
  await claimDead(3)
  await sql`insert into delivery_claims (token, from_shard, to_shard, ids, until)
    select gen_random_uuid(), 0, 64, array[1000000 + i], now() - interval '1 hour' from generate_series(1, 10500) i`.execute(
    db,
  )
  const recover = recovery()
  expect(await recover()).toBe(true)
  expect(await underWay()).toEqual([])
  expect(await notes()).toBe(501)
  expect(await recover()).toBe(false)
  expect(await notes()).toBe(0)
})

test('no pass begins while another one is under way', async () => {
  await claimDead(1)
  const recover = recovery()
  const first = await db.transaction().execute(async (holder) => {
    await sql`lock table delivery_claims`.execute(holder)
    const begun = { pass: recover() }
    expect(await recover()).toBe(false)
    return begun
  })
  expect(await first.pass).toBe(true)
  expect(await recover()).toBe(false)
  expect(await notes()).toBe(0)
})

test('a delivery whose settlement Postgres refuses keeps no other from being taken over', async () => {
  const [refused] = await claimDead(5)
  await sql`alter table deliveries add constraint refused check (id <> ${sql.lit(refused)} or state <> 'queued') not valid`.execute(
    db,
  )
  try {
    expect(await recovery()()).toBe(true)
    expect(await underWay()).toEqual([refused])
  } finally {
    await sql`alter table deliveries drop constraint refused`.execute(db)
  }
})
