// How what claims have noted is read: the deliveries by the ids of the notes, by a plan that connections keep. It is the same
// before the tables were ever analyzed, while they are empty, and when they are full.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Db, Trx } from '../../db/connect.ts'
import { forgetClaims, listExpiredLeases } from '../../db/deliveries/leases.ts'
import { listQueueDepths } from '../../db/deliveries/queueDepth.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf } from '../setup/planNodes.ts'
import { queueAt } from '../setup/queue.ts'

// As the connections of a worker.
const { db, pool } = await createTestDatabase({ poolSize: 1, settings: { enable_seqscan: 'off' } })
const NOW = new Date('2026-03-02T09:00:00Z')
const { queue } = queueAt(db, NOW)
const ALL = { from: 0, to: 64 }
const LEASE = '00000000-0000-0000-0000-000000000001'

/** The text of the statement that a query sends. */
async function textOf(query: (on: Db) => Promise<unknown>): Promise<string> {
  const { db: listening, asked } = noteQueries(pool)
  await query(listening)
  return asked[0]?.sql ?? ''
}

/** By which indexes a statement reads deliveries, planned without its parameters. */
async function indexesOf(text: string): Promise<string[]> {
  const { rows } = await pool.query(`explain (generic_plan, format json) ${text}`)
  const reads = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)].filter(
    (node) =>
      /Scan/.test(node['Node Type']) &&
      node['Node Type'] !== 'Bitmap Heap Scan' &&
      (node['Relation Name'] === 'deliveries' || /^deliveries_/.test(node['Index Name'] ?? '')),
  )
  return [...new Set(reads.map((node) => node['Index Name'] ?? node['Node Type']))].sort()
}

const queries = {
  'expired leases': (on: Db) => listExpiredLeases(on, ALL),
  'what may be forgotten': (on: Db) => forgetClaims(on as Trx, ALL),
  'what is under way': (on: Db) => listQueueDepths(on, NOW),
}

test.each(Object.entries(queries))('by the ids of notes is read: %s', async (name, query) => {
  await sql`truncate deliveries, delivery_claims`.execute(db)
  const text = await textOf(query)
  const plans = [await indexesOf(text)]
  await sql`analyze deliveries, delivery_claims`.execute(db)
  plans.push(await indexesOf(text))
  await queue(20_000)
  await sql`insert into delivery_claims (token, from_shard, to_shard, ids, until)
    select ${LEASE}, 0, 64, array_agg(id), now() - interval '1 hour' from deliveries group by id % 200`.execute(
    db,
  )
  plans.push(await indexesOf(text))
  await sql`analyze deliveries, delivery_claims`.execute(db)
  plans.push(await indexesOf(text))
  if (name === 'what is under way') {
    // The rest of it counts what waits, and is planned each time.
    expect(text).toMatch(/^\s*\/\* depths \*\//)
    for (const indexes of plans) expect(indexes).toContain('deliveries_pkey')
    const others = ['deliveries_line_places', 'deliveries_put_off']
    expect(plans.at(-1)).toEqual([...others, 'deliveries_pkey'].sort())
  } else for (const indexes of plans) expect(indexes).toEqual(['deliveries_pkey'])
})
