// What workers ask of deleted audiences is found by indexes, in their order, however much the tables have grown since Postgres last looked.
import { type CompiledQuery, sql } from 'kysely'
import { expect, test } from 'vitest'
import { forgetAudiencePage } from '../../commands/audiences/forgetDeleted.ts'
import {
  beginPageOfDeleted,
  findDeletedAudience,
  findDeletedSummary,
} from '../../db/audiences/deleted.ts'
import type { Trx } from '../../db/connect.ts'
import { workerSettings } from '../../db/settings.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { whileTablesGrow } from '../setup/growingTables.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { nodesOf, type PlanNode } from '../setup/planNodes.ts'
import { insertAudience } from '../setup/schedules.ts'

const { db, pool } = await createTestDatabase({ settings: workerSettings })
const workspace = await seedWorkspace(db)
const { workspaceId, userId } = workspace
const id = await insertAudience(db, workspace, 0)
const there = await insertAudience(db, workspace, 0)

/** Some audiences of which one in fifty is deleted, and contacts, most of them of one deleted audience. */
async function fill(from: number, to: number): Promise<void> {
  const n = sql`generate_series(${from + 1}::int, ${to}::int) as n`
  await sql`
    insert into audiences (id, workspace_id, name, created_by, created_at, updated_at, deleted_at)
    select 'aud_' || n, ${workspaceId}, 'A', ${userId}, now(), now(), case when n % 50 = 0 then now() end from ${n}`.execute(
    db,
  )
  await sql`
    insert into audience_contacts (id, audience_id, workspace_id, email, created_at, updated_at)
    select 'ac_' || n, case when n % 10 = 0 then ${there} else ${id} end, ${workspaceId}, md5(n::text), now(), now()
    from ${n}`.execute(db)
}

/** The statements of a page that is the last, so that they are all there, and of the look before. */
async function statementsOf(): Promise<CompiledQuery[]> {
  const { db: listening, asked } = noteQueries(pool)
  await findDeletedAudience(listening, { after: '', but: [] })
  await findDeletedSummary(listening)
  await forgetAudiencePage(
    { db: listening, wake: () => undefined, now: () => new Date() },
    workspaceId,
    { id: await deletedOne(), from: '', limit: 100 },
  )
  return asked.filter(({ sql: text }) => /\baudience(s|_contacts|_changes)\b/.test(text))
}

async function deletedOne(): Promise<string> {
  const one = await insertAudience(db, workspace, 0)
  await db.updateTable('audiences').set({ deleted_at: new Date() }).where('id', '=', one).execute()
  return one
}

const statements = await statementsOf()
await db
  .updateTable('audiences')
  .set({ deleted_at: new Date(0) })
  .where('id', '=', id)
  .execute()

/** By what each of the tables is read. */
const conditions: Record<string, RegExp> = {
  audiences: /\bid = |\(workspace_id > /,
  audience_contacts: /audience_id = /,
  audience_changes: /\b(audience_)?id = /,
}

interface Read {
  text: string
  table: string
  condition: string
}

/** How they read the tables, with what they are asked and without it; and what they sort. */
async function readsOf(): Promise<Read[]> {
  const reads: Read[] = []
  await db.transaction().execute(async (trx) => {
    expect(await beginPageOfDeleted(trx as Trx, workspaceId, id)).toBe('begun')
    for (const { sql: text, parameters } of statements) {
      const own = text.replace(/\$\d+/g, (place) => literal(parameters[Number(place.slice(1)) - 1]))
      for (const asked of [`(format json) ${own}`, `(generic_plan, format json) ${text}`]) {
        const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>`
          explain ${sql.raw(asked)}`.execute(trx)
        for (const node of rows.flatMap((row) => [...nodesOf(row['QUERY PLAN'][0].Plan)])) {
          const { 'Index Cond': condition } = node as PlanNode & { 'Index Cond'?: string }
          const { 'Relation Name': table = '', 'Node Type': type } = node
          const isRead = /Sort|Bitmap/.test(type) || (table !== '' && /(?<!Tid) Scan$/.test(type))
          if (isRead) reads.push({ text, table, condition: condition ?? type })
        }
      }
    }
  })
  return reads
}

const literal = (value: unknown): string => {
  if (Array.isArray(value)) return "'{}'"
  return typeof value === 'number' ? String(value) : `'${String(value).replace(/^aud_.*/, id)}'`
}

test('each table is read by its index: never analyzed, empty, growing, full', {
  timeout: 120_000,
}, async () => {
  expect(statements).toHaveLength(6)
  for (const reads of await whileTablesGrow(db, fill, readsOf)) {
    expect(new Set(reads.map(({ table }) => table))).toEqual(new Set(Object.keys(conditions)))
    for (const { text, table, condition } of reads) {
      expect(condition, text).toMatch(conditions[table] ?? /^$/)
    }
  }
})
