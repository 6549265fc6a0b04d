// The plan of a claim is kept by each connection, so it must be the same for an empty queue and for a long one.
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { Claim } from '../../db/deliveries/claim.ts'
import type { Database } from '../../db/schema.ts'
import { claimInTrx } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf } from '../setup/planNodes.ts'
import { queueAt } from '../setup/queue.ts'

const { db, pool } = await createTestDatabase({ poolSize: 1 })
const { queue, claimOf } = queueAt(db, new Date('2026-03-02T09:00:00Z'))

/** The statements of a claim, as a lane sends them. */
async function statementsOf(asked: Claim): Promise<CompiledQuery[]> {
  const sent: CompiledQuery[] = []
  const listening = new Kysely<Database>({
    dialect: new PostgresDialect({ pool }),
    log: ({ query }) => void sent.push(query),
  })
  await transact({ db: listening, wake: () => undefined }, (inTrx) => claimInTrx(inTrx.db, asked))
  return sent.filter((query) => /set_config|recursive/.test(query.sql))
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

test('a claim has one plan, by the same indexes, before the queue was ever analyzed, while it is empty, and when it is long', async () => {
  await sql`truncate deliveries`.execute(db)
  const owner = { lane: 0, epoch: 1 }
  for (const asked of [claimOf(), claimOf({ owner })]) {
    const statements = await statementsOf(asked)
    expect(statements).toHaveLength(2)
    const never = await planOf(statements)
    await sql`analyze`.execute(db)
    const empty = await planOf(statements)
    await queue(50_000)
    const grown = await planOf(statements)
    await sql`analyze`.execute(db)
    const long = await planOf(statements)
    for (const plan of [never, empty, grown, long]) {
      const read = plan.filter(({ table, type }) => table === 'deliveries' && /Scan/.test(type))
      expect(new Set(read.map(({ index, type }) => index ?? type))).toEqual(
        new Set(['deliveries_in_line', 'Tid Scan']),
      )
      const tables = plan.filter(({ table, type }) => table !== undefined && /Scan/.test(type))
      expect(new Set(tables.map(({ type }) => type))).toEqual(new Set(['Index Scan', 'Tid Scan']))
      expect(plan.filter(({ type }) => /Hash Join|Merge Join/.test(type))).toEqual([])
      expect(plan.filter(({ table }) => table === 'deliveries')).toEqual(
        long.filter(({ table }) => table === 'deliveries'),
      )
    }
    await sql`truncate deliveries`.execute(db)
  }
})
