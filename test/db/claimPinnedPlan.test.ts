// The plans of what a lane asks are kept by each connection, so they must be the same for an empty queue and for a long one.
import { type CompiledQuery, sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import { type Claim, claimDeliveries } from '../../db/deliveries/claim.ts'
import { listArrivals, listLines, readLines } from '../../db/deliveries/lines.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { applySettings } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf } from '../setup/planNodes.ts'
import { queueAt } from '../setup/queue.ts'

const { db, pool } = await createTestDatabase({ poolSize: 1 })
const { queue } = queueAt(db, new Date('2026-03-02T09:00:00Z'))

/** The settings of a lane's connections, and a statement that it sends there. */
async function statementsOf(work: (trx: Trx) => Promise<unknown>): Promise<CompiledQuery[]> {
  const { db: listening, asked } = noteQueries(pool)
  await transact({ db: listening, wake: () => undefined }, async (inTrx) => {
    await applySettings(inTrx.db)
    await work(inTrx.db)
  })
  return asked.filter((query) => /set_config|deliveries/.test(query.sql))
}

/** How the last statement reads tables, as it is planned after the others and without its parameters. */
async function planOf(statements: readonly CompiledQuery[]) {
  const client = await pool.connect()
  try {
    await client.query('begin')
    for (const { sql, parameters } of statements.slice(0, -1)) {
      await client.query(sql, [...parameters])
    }
    const { rows } = await client.query(
      `explain (generic_plan, format json) ${statements.at(-1)?.sql}`,
    )
    return [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)].map((node) => ({
      type: node['Node Type'],
      table: node['Relation Name'],
      index: node['Index Name'],
    }))
  } finally {
    await client.query('rollback')
    client.release()
  }
}

const shards = { from: 0, to: 64 }
const claim: Claim = {
  ids: [1, 2],
  shards,
  leaseToken: '00000000-0000-0000-0000-000000000001',
  leaseMs: 60_000,
  now: new Date('2026-03-02T09:00:00Z'),
}
const line = { class: 0, workspace_id: 'ws_1', shard: 5, destination: 'd.test' }

/** What a lane sends, and by which indexes it reads deliveries. */
const statements: Record<string, [(trx: Trx) => Promise<unknown>, string[]]> = {
  claim: [(trx) => claimDeliveries(trx, claim), ['Tid Scan', 'deliveries_pkey']],
  'claim of an owner': [
    (trx) => claimDeliveries(trx, { ...claim, owner: { lane: 0, epoch: 1 } }),
    ['Tid Scan', 'deliveries_pkey'],
  ],
  'look for arrivals': [
    (trx) =>
      listArrivals(trx, { shards, after: 5, seenTo: 9, snapshot: { xmin: 7, xmax: 9, xip: [7] } }),
    ['deliveries_pkey'],
  ],
  'search for lines': [
    (trx) => listLines(trx, { shards, after: line }),
    ['deliveries_line_places'],
  ],
  'look at lines': [
    (trx) => readLines(trx, [{ ...line, unread: { at: 0, id: 0 } }], 9),
    ['deliveries_line_places'],
  ],
}

test.each(Object.entries(statements))(
  'a %s has one plan, by the same indexes, before the queue was ever analyzed, while it is empty, and when it is long',
  async (_, [work, indexes]) => {
    await sql`truncate deliveries`.execute(db)
    const sent = await statementsOf(work)
    expect(sent).toHaveLength(2)
    const never = await planOf(sent)
    await sql`analyze`.execute(db)
    const empty = await planOf(sent)
    await queue(50_000)
    const grown = await planOf(sent)
    await sql`analyze`.execute(db)
    const long = await planOf(sent)
    for (const plan of [never, empty, grown, long]) {
      const read = plan.filter(({ table, type }) => table === 'deliveries' && /Scan/.test(type))
      expect([...new Set(read.map(({ index, type }) => index ?? type))].sort()).toEqual(indexes)
      const tables = plan.filter(({ table, type }) => table !== undefined && /Scan/.test(type))
      for (const { type } of tables) expect(type).toMatch(/^(Index Scan|Index Only Scan|Tid Scan)$/)
      expect(plan.filter(({ type }) => /Hash Join|Merge Join/.test(type))).toEqual([])
      expect(plan.filter(({ table }) => table === 'deliveries')).toEqual(
        long.filter(({ table }) => table === 'deliveries'),
      )
    }
  },
)
