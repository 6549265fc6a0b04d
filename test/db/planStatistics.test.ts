// Postgres looks at a table that has grown as soon as a worker sees it, and plans look-ups by what stands there.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { analyzeGrown } from '../../db/planStatistics.ts'
import { createTestDatabase } from '../setup/database.ts'
import { flushStatistics } from '../setup/flushStatistics.ts'
import { seedWorkspace } from '../setup/harness.ts'

const CONNECTIONS = 2
const { db } = await createTestDatabase({ poolSize: CONNECTIONS })
const { workspaceId } = await seedWorkspace(db)

/** Adds contacts up to this number. */
async function growTo(count: number): Promise<void> {
  await sql`
    insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
    select 'con_' || n, ${workspaceId}, n || '@example.test', now(), now(), 'x', now(), now()
    from generate_series((select count(*) + 1 from contacts), ${count}::int) n`.execute(db)
  await flushStatistics(db, CONNECTIONS)
}

/** Rows that a look-up of one contact reads and then leaves out. */
async function rowsReadInVain(): Promise<number> {
  const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>`
    explain (analyze, format json)
    select c.id from (select ${workspaceId} || '' as workspace_id, '7@example.test' || '' as recipient offset 0) r
    join contacts c on c.workspace_id = r.workspace_id and c.email = lower(r.recipient)`.execute(db)
  return (
    JSON.stringify(rows)
      .match(/"Rows Removed by Filter":(\d+)/g)
      ?.reduce((sum, part) => sum + Number(part.split(':')[1]), 0) ?? 0
  )
}

test('a table is looked at once for each time that it doubles, and its look-ups read what they look for', async () => {
  await growTo(99)
  expect(await analyzeGrown(db)).toEqual([])
  await growTo(1_500)
  expect(await analyzeGrown(db)).toEqual(['contacts'])
  expect(await rowsReadInVain()).toBe(0)
  await growTo(2_900)
  expect(await analyzeGrown(db)).toEqual([])
  await growTo(3_100)
  expect(await analyzeGrown(db)).toEqual(['contacts'])
  expect(await analyzeGrown(db)).toEqual([])
})
