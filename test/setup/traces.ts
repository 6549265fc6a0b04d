// Looks for what names a person in every column of every table, and does the job that erases them.
import { sql } from 'kysely'
import { type PageDeps, runJobPage } from '../../commands/jobs/runPage.ts'
import type { Db } from '../../db/connect.ts'

/** Ways in which a value may be written in a column. */
export function spellings(value: string): string[] {
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.from(' '.repeat(shift) + value)
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  )
  const quoted = value.replaceAll('@', '=40')
  const hex = Buffer.from(value).toString('hex')
  return [value.toLowerCase(), encodeURIComponent(value).toLowerCase(), quoted, hex, ...base64]
}

/** Tables, columns and spellings that name somebody. */
export async function traces(db: Db, ...values: string[]): Promise<string[]> {
  const { rows: columns } = await sql<{ table: string; column: string; bytes: boolean }>`
    select c.table_name as "table", c.column_name as "column", c.data_type = 'bytea' as bytes
    from information_schema.columns c
    join information_schema.tables t on t.table_name = c.table_name and t.table_type = 'BASE TABLE'
      and t.table_schema = c.table_schema
    where c.table_schema = 'public' order by 1, 2`.execute(db)
  const found: string[] = []
  for (const { table, column, bytes } of columns) {
    const text = bytes
      ? sql`encode(t.${sql.ref(column)}, 'escape')`
      : sql`t.${sql.ref(column)}::text`
    const wanted = values.flatMap(spellings)
    const { rows } = await sql<{ spelling: string }>`
      select distinct s.spelling from ${sql.table(table)} t, unnest(${wanted}::text[]) as s(spelling)
      where strpos(${text}, s.spelling) > 0 or strpos(lower(${text}), s.spelling) > 0`.execute(db)
    for (const { spelling } of rows) found.push(`${table}.${column} ${spelling}`)
  }
  return found
}

/**
 * Does the pages of erasures, the oldest first, until each is over, or rests although all transactions of before have ended.
 * @returns the status of the newest
 */
export async function carryOnErasing(deps: PageDeps): Promise<string> {
  const { db } = deps
  const list = async () => {
    const { rows } = await sql<{ id: string; status: string; waits_for_nobody: boolean | null }>`
      select id, status, input->'waits_for' = '[]' as waits_for_nobody
      from jobs where kind = 'erasure' order by id`.execute(db)
    return rows
  }
  for (const { id } of await list()) {
    for (;;) {
      const { more, wait_ms } = await runJobPage(deps, { id })
      const waitsForNobody = (await list()).find((one) => one.id === id)?.waits_for_nobody
      if (!more || (wait_ms !== undefined && waitsForNobody)) break
    }
  }
  return (await list()).at(-1)?.status ?? 'none'
}
