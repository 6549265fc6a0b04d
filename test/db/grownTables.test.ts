// Tables that have grown are analyzed before autovacuum comes to it, and plans that were kept are made anew.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createLog } from '../../runtime/log.ts'
import { createAnalyzing } from '../../worker/grownTables.ts'
import { createTestDatabase } from '../setup/database.ts'
import { flushStatistics } from '../setup/flushStatistics.ts'
import { now, seedWorkspace } from '../setup/harness.ts'
import { nodesOf, type PlanNode, readBy } from '../setup/planNodes.ts'

const { db } = await createTestDatabase({ poolSize: 1 })
const { workspaceId } = await seedWorkspace(db)
const deps = { db, now, wake: () => undefined, log: createLog('analyze', 'silent') }
let isStopping = false
const round = createAnalyzing(deps, () => isStopping)
// Autovacuum must not come before.
await sql`alter table contacts set (autovacuum_enabled = off)`.execute(db)

/** Adds contacts up to this number. */
async function growTo(count: number): Promise<void> {
  await sql`
    insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
    select 'con_' || n, ${workspaceId}, n || '@example.test', now(), now(), 'x', now(), now()
    from generate_series((select count(*) + 1 from contacts), ${count}::int) n`.execute(db)
  await flushStatistics(db, 1)
}

/** How many contacts Postgres knew of when it last looked. */
async function knownRows(): Promise<number> {
  await flushStatistics(db, 1)
  const { rows } = await sql<{ n: number }>`
    select reltuples::int as n from pg_class where oid = 'contacts'::regclass`.execute(db)
  return rows[0]?.n ?? 0
}

/** Rows that a plan which is kept reads to find one contact among those of some ids. */
async function rowsRead(): Promise<number> {
  const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>`
    explain (analyze, format json) execute kept('[{"id": "con_7"}]')`.execute(db)
  const [plan] = rows[0]?.['QUERY PLAN'] ?? []
  if (!plan) throw new Error('there is no plan')
  return [...nodesOf(plan.Plan)]
    .filter((node) => /^contacts/.test(node['Relation Name'] ?? node['Index Name'] ?? ''))
    .reduce((sum, node) => sum + readBy(node), 0)
}

test('a table is analyzed once for each time that it doubles, and a plan that was kept is made anew', async () => {
  await sql`set plan_cache_mode = force_generic_plan`.execute(db)
  await sql`set enable_seqscan = off`.execute(db)
  await growTo(50)
  await sql
    .raw(`prepare kept(jsonb) as select c.email from jsonb_to_recordset($1) as g (id text)
    join contacts c on c.id = g.id where c.workspace_id = '${workspaceId}'`)
    .execute(db)
  await sql`select 1`.execute(db)
  await rowsRead()
  await growTo(99)
  await round()
  expect(await knownRows()).toBe(-1)
  await growTo(50_000)
  const before = await rowsRead()
  await round()
  expect(await knownRows()).toBe(50_000)
  expect(before).toBeGreaterThan(10_000)
  expect(await rowsRead()).toBeLessThan(10)
  await growTo(90_000)
  await round()
  expect(await knownRows()).toBe(50_000)
  await growTo(101_000)
  isStopping = true
  await round()
  expect(await knownRows()).toBe(50_000)
  isStopping = false
  await round()
  expect(await knownRows()).toBe(101_000)
})

test('a table that cannot be analyzed holds up no other, and is not tried again at once', async () => {
  await sql`create table a_broken (n int); `.execute(db)
  await sql`create function broken(int) returns int language plpgsql immutable as $$ begin
    if current_setting('dripline.breaks', true) = 'yes' then raise exception 'broken'; end if; return $1; end $$`.execute(
    db,
  )
  await sql`create index on a_broken (broken(n))`.execute(db)
  await sql`insert into a_broken select generate_series(1, 1000)`.execute(db)
  await sql`set dripline.breaks = 'yes'`.execute(db)
  await growTo(210_000)
  await round()
  expect(await knownRows()).toBe(210_000)
  const analyzed = async () => {
    await flushStatistics(db, 1)
    const { rows } = await sql<{ at: Date | null }>`
      select last_analyze as at from pg_stat_user_tables where relname = 'a_broken'`.execute(db)
    return rows[0]?.at ?? null
  }
  expect(await analyzed()).toBeNull()
  await sql`set dripline.breaks = 'no'`.execute(db)
  await round()
  expect(await analyzed()).toBeNull()
})
