// Claims while a transaction is open that began long before: what was settled since keeps its entries in the index of the lines.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { Claim } from '../../db/deliveries/claim.ts'
import { claimInTrx } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { flushStatistics } from '../setup/flushStatistics.ts'
import { queueAt } from '../setup/queue.ts'

const { db } = await createTestDatabase({ settings: { enable_seqscan: 'off' } })
const NOW = new Date('2026-03-02T09:00:00Z')
const { after, claimOf } = queueAt(db, NOW)

beforeEach(() => sql`truncate deliveries, delivery_claims`.execute(db))

/** Queues mail of a workspace for `lines` destinations, each `perLine` times. */
const queue = (workspace: string, lines: number, perLine = 1) =>
  sql`
  insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at,
    destination)
  select gen_random_uuid(), ${workspace}, 'dom_1', 'u' || n || '@d.test', 5, 'queued', ${NOW}, ${after(1e9)}, ${NOW},
    'd' || lpad(i::text, 5, '0') || '.test'
  from generate_series(1, ${lines}::int) i, generate_series(1, ${perLine}::int) n`.execute(db)

const claim = (over: Partial<Claim> = {}) =>
  transact({ db, wake: () => undefined }, (inTrx) => claimInTrx(inTrx.db, claimOf(over)))

/** How many entries of the index of the lines some work reads, dead ones too. */
async function entriesRead(work: () => Promise<unknown>): Promise<number> {
  const read = () =>
    db.transaction().execute(async (trx) => {
      const { rows } = await sql<{ read: number }>`
        select idx_tup_read::int as read from pg_stat_user_indexes where indexrelname = 'deliveries_in_line'`.execute(
        trx,
      )
      return rows[0]?.read ?? Number.NaN
    })
  await flushStatistics(db, 10)
  const before = await read()
  await work()
  await flushStatistics(db, 10)
  return (await read()) - before
}

test('a workspace that goes on behind settled lines costs no look at them', async () => {
  for (const workspace of ['ws_a', 'ws_b', 'ws_c']) await queue(workspace, 2_000)
  const place = { shard: 5, destination: 'd01500.test' }
  const places = [new Map(['ws_a', 'ws_b', 'ws_c'].map((name) => [name, place]))]
  await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (holder) => {
      await sql`select count(*) from workspaces`.execute(holder)
      await sql`update deliveries set state = 'cancelled', settled_at = ${NOW} where destination <= ${place.destination}`.execute(
        db,
      )
      const asked = { limit: 60, turn: 20, perLine: 20, most: [60, 0, 0], places }
      let ids: number[] = []
      const read = await entriesRead(async () => {
        ids = (await claim(asked)).deliveries.map(({ id }) => id)
      })
      expect(ids).toHaveLength(60)
      expect(read).toBeLessThan(500)
    })
})

test('workspaces without a place get their turn between those that have one, and who has nothing left is passed', async () => {
  for (const workspace of ['ws_a', 'ws_b', 'ws_d', 'ws_e']) await queue(workspace, 3, 10)
  const place = { shard: 5, destination: 'd00002.test' }
  const places = [new Map(['ws_d', 'ws_b', 'ws_c', 'ws_f'].map((name) => [name, place]))]
  const turns = async (from: string, limit: number) => {
    const { deliveries, walked } = await claim({
      limit,
      turn: 10,
      perLine: 10,
      most: [limit, 0, 0],
      places,
      after: [from],
    })
    await sql`update deliveries set state = 'queued', attempt = 0, lease_token = null, lease_until = null`.execute(
      db,
    )
    return [
      deliveries.map((one) => `${one.workspace_id} ${one.destination[5]}`),
      walked[0]?.after,
    ] as const
  }
  const ten = (name: string) => Array(10).fill(name)
  const [all, end] = await turns('', 100)
  expect(all.sort()).toEqual([
    ...ten('ws_a 1'),
    ...ten('ws_b 3'),
    ...ten('ws_d 3'),
    ...ten('ws_e 1'),
  ])
  expect(end).toBe('')
  expect(await turns('ws_a', 10)).toEqual([ten('ws_b 3'), 'ws_b'])
  expect(await turns('ws_b', 10)).toEqual([ten('ws_d 3'), 'ws_d'])
  expect(await turns('ws_d', 100)).toEqual([ten('ws_e 1'), ''])
})
