// An erased contact's executions are walked over in pages that each read their own alone, however many there are, and whatever Postgres
// knows of the tables.
import { type CompiledQuery, sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { blankExecutions, type ExecutionPlace } from '../../db/contacts/executionWalk.ts'
import { workerSettings } from '../../db/settings.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { whileTablesGrow } from '../setup/growingTables.ts'
import { nodesOf, type PlanNode, readBy } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase({ settings: workerSettings })
const WORKSPACE = 'ws_1' as WorkspaceId
const LIMIT = 100

const { db: watched, asked } = noteQueries(pool)
const pageAfter = (after: ExecutionPlace | null) =>
  transact({ db: watched, wake: () => undefined }, ({ db: trx }) =>
    blankExecutions(trx, WORKSPACE, 'ct_0', { after, limit: LIMIT }),
  )

/** Every second execution is the contact's; seven of each have ended at one time. Each has a step, a wait and a call. */
async function fill(from: number, to: number): Promise<void> {
  const n = sql`generate_series(${from + 1}::int, ${to}::int) as n`
  const id = sql`'exe_' || lpad(n::text, 6, '0')`
  await sql`
    insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, properties, error,
      cancellation_reason, ended_status, created_at, updated_at, completed_at)
    select ${id}, 'ws_1', 'wf_1', 1, 'ct_' || n % 2, 'ada@person.test', 'start', '{}', 'e', 'she asked',
      case n % 3 when 0 then 'COMPLETED' when 1 then 'FAILED' else 'CANCELLED' end, now(), now(),
      now() - n / 14 * interval '1 minute' from ${n}`.execute(db)
  await sql`
    insert into execution_steps (execution_id, seq, segment, node_id, type, why, at)
    select ${id}, 1, 1, 'a', 'condition', 'because', now() from ${n}`.execute(db)
  await sql`
    insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id, event_name, created_at)
    select ${id}, 1, 'a', 'ws_1', 'ct_' || n % 2, 'bought', now() from ${n}`.execute(db)
  await sql`
    insert into http_calls (execution_id, segment, workspace_id, node_id, lap, request, why, created_at)
    select ${id}, 1, 'ws_1', 'a', 1, '\\x01', 'because', now() from ${n}`.execute(db)
}

/** The most rows that a node of a page's plan reads, and what is read otherwise than by ids or behind the place. */
async function readsOf({ sql: text, parameters }: CompiledQuery) {
  const session = await pool.connect()
  await session.query('begin')
  const explained = `explain (analyze, format json) ${text}`
  const { rows } = await session.query(explained, [...parameters])
  await session.query('rollback')
  session.release()
  const nodes = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)] as (PlanNode & {
    'Index Cond'?: string
  })[]
  return {
    most: Math.max(...nodes.map((node) => readBy(node))),
    others: nodes
      .filter((node) => /^(Bitmap )?Index( Only)? Scan|Seq Scan/.test(node['Node Type']))
      .map((node) => `${node['Node Type']} by ${node['Index Cond']}`)
      .filter((read) => !/(\bid|execution_id) = ANY|ROW\(completed_at, id\) >/.test(read)),
  }
}

test('each execution is on one page, which reads no others, and nothing of it is left', {
  timeout: 120_000,
}, async () => {
  await pageAfter(null)
  const first = asked.find(({ sql: text }) => text.includes('locked'))
  if (!first) throw new Error('no page was asked for')
  for (const { most } of await whileTablesGrow(db, fill, () => readsOf(first))) {
    expect(most).toBeLessThan(1_000)
  }
  let count = 0
  let after: ExecutionPlace | null = null
  do {
    const page: Awaited<ReturnType<typeof blankExecutions>> = await pageAfter(after)
    expect(page.count).toBeLessThanOrEqual(LIMIT)
    count += page.count
    after = page.next
  } while (after)
  const { rows } = await pool.query(`
    select count(*)::int as blank, min(contact_id) as first, max(contact_id) as last from executions x
    where email = '' and properties is null and error is null and cancellation_reason = 'cancelled'
      and not exists (select from execution_steps s where s.execution_id = x.id and s.why is not null)
      and not exists (select from event_waits w where w.execution_id = x.id)
      and not exists (select from http_calls c where c.execution_id = x.id
        and (c.request is not null or c.why is not null))`)
  expect(rows).toEqual([{ blank: count, first: 'ct_0', last: 'ct_0' }])
  expect(count).toBe(10_000)
  const pages = asked.filter(({ sql: text }) => text.includes('locked'))
  expect(pages.length).toBeGreaterThan(100)
  for (const page of pages.filter((_, i) => i % 10 === 0)) {
    const { most, others } = await readsOf(page)
    expect(others).toEqual([])
    expect(most).toBeLessThanOrEqual(3 * LIMIT)
  }
})
