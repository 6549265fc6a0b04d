// Claims while a transaction is open that began long before: what was settled since keeps its entries in the indexes.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { readyDue } from '../../db/deliveries/ready.ts'
import { createTestLane } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { flushStatistics } from '../setup/flushStatistics.ts'
import { allLines, queueAt, rights } from '../setup/queue.ts'
import { bringTo } from '../setup/states.ts'

const { db } = await createTestDatabase({ settings: { enable_seqscan: 'off' } })
const NOW = new Date('2026-03-02T09:00:00Z')
const { after, claimOf } = queueAt(db, NOW)

beforeEach(() => sql`truncate deliveries, delivery_claims`.execute(db))

/** Accepts mail of a workspace to one destination. */
const accept = (count: number, destination = 'd.test', workspace = 'ws_1') =>
  sql`
  insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at,
    destination)
  select gen_random_uuid(), ${workspace}, 'dom_1', 'u' || n || '@d.test', 5, 'queued', ${NOW}, ${after(1e9)}, ${NOW},
    ${destination}
  from generate_series(1, ${count}::int) n`.execute(db)

const settle = (ids: number[]) => bringTo(db, { ids }, 'delivered', NOW)

/** How many entries of the indexes of deliveries some work reads, dead ones too. */
async function entriesRead(work: () => Promise<unknown>, index = 'deliveries%'): Promise<number> {
  const read = () =>
    db.transaction().execute(async (trx) => {
      const { rows } = await sql<{ read: number }>`
        select sum(idx_tup_read)::int as read from pg_stat_user_indexes
        where relname = 'deliveries' and indexrelname like ${index}`.execute(trx)
      return rows[0]?.read ?? Number.NaN
    })
  await flushStatistics(db, 10)
  const before = await read()
  await work()
  await flushStatistics(db, 10)
  return (await read()) - before
}

/** A lane that goes on from claim to claim, as one that never rests. */
function createLane() {
  const { claims, use } = createTestLane({ from: 0, to: 64 })
  return async (limit: number, rooms = allLines(limit).rooms): Promise<number[]> => {
    const { deliveries } = await transact({ db, wake: () => undefined }, async (inTrx) => {
      await use(inTrx.db)
      return claims.claim({ ...claimOf({ limit }), rooms })
    })
    return deliveries.map(({ id }) => id)
  }
}

/** Does some work while a snapshot is held open. */
const besideSnapshot = (work: () => Promise<void>) =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (holder) => {
      await sql`select count(*) from workspaces`.execute(holder)
      await work()
    })

test('what was sent since costs the next claims nothing: of a queue that is empty but for what comes', async () => {
  const claim = createLane()
  await claim(100)
  await besideSnapshot(async () => {
    for (let n = 0; n < 30; n++) {
      await accept(100)
      const ids = await claim(100)
      expect(ids).toHaveLength(100)
      await settle(ids)
    }
    // Ids of the last moments are looked at again, since transactions end in any order.
    await eventually(async () => {
      await accept(20)
      let ids: number[] = []
      const read = await entriesRead(async () => {
        ids = await claim(100)
      })
      expect(ids).toHaveLength(20)
      expect(read).toBeLessThan(500)
      await settle(ids)
    })
  })
})

test('what was sent since costs the next claims nothing: of a long line, beside one that has no room', async () => {
  await accept(6_000)
  await accept(300, 'full.test')
  const claim = createLane()
  const rooms = { known: new Map([['full.test', 0]]), other: 1_000 }
  await claim(100, rooms)
  await besideSnapshot(async () => {
    for (let n = 0; n < 40; n++) {
      const ids = await claim(100, rooms)
      expect(ids).toHaveLength(100)
      await settle(ids)
    }
    let ids: number[] = []
    const read = await entriesRead(async () => {
      ids = await claim(100, rooms)
    })
    expect(ids).toHaveLength(100)
    expect(read).toBeLessThan(1_000)
  })
})

test('what was made ready since costs the next looks nothing that begin behind it', async () => {
  const later = (count: number, from: Date) =>
    accept(count).then(() =>
      sql`update deliveries set ready = false, next_at = ${from} where ready`.execute(db),
    )
  const ready = (now: Date, since?: Date) =>
    transact.one({ db, wake: () => undefined }, (inTrx) =>
      readyDue(inTrx.db, { from: 0, to: 64 }, now, {
        perShard: 200,
        rights,
        ...(since ? { since } : {}),
      }),
    )
  await besideSnapshot(async () => {
    for (let n = 0; n < 20; n++) {
      await later(100, after(n))
      expect((await ready(after(n))).rows).toHaveLength(100)
      await sql`delete from deliveries`.execute(db)
    }
    await later(5, after(100))
    let found: number[] = []
    const read = await entriesRead(async () => {
      found = (await ready(after(100), after(50))).rows.map(({ id }) => id)
    }, 'deliveries_put_off%')
    expect(found).toHaveLength(5)
    expect(read).toBeLessThan(100)
  })
})
