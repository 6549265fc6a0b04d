// How the statements that accept emails look for contacts, suppressions and receivers: by their addresses, never all that a workspace has. Their
// plans are kept for each connection, so they must do so while the tables are empty, too.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { insertEmail } from '../../db/emails/insert.ts'
import { insertEmails, type PlainEmail } from '../../db/emails/insertMany.ts'
import { listSendFacts } from '../../db/emails/sendFacts.ts'
import { apiSettings } from '../../db/settings.ts'
import { newTestEmail } from '../setup/acceptedMail.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { whileTablesGrow } from '../setup/growingTables.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { nodesOf } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase({ settings: apiSettings })

/**
 * By what each of the tables is read. Not here: `erased_suppressions`, of which Postgres reads those of the workspace by its list while it was
 * analyzed empty, until it is analyzed again.
 */
const conditions: Record<string, RegExp> = {
  contacts: /workspace_id = .* AND \(?email = /,
  domains: /\(id = |AND \(?name = /,
  recipient_domains: /domain = /,
  suppressions: /workspace_id = .* AND \(?email = /,
}

async function statementsOf(): Promise<string[]> {
  const { db: listening, asked } = noteQueries(pool)
  const { workspaceId, domainId } = await seedWorkspace(db)
  await listSendFacts(listening, workspaceId, [
    { domainName: 'sender.test', addresses: ['a@mail.test'] },
  ])
  await transact({ db: listening, wake: () => undefined }, async ({ db: trx }) => {
    await insertEmail(trx, workspaceId, newTestEmail(domainId))
    const some = [1, 2].map(() => newTestEmail(domainId) as PlainEmail)
    const macsOf = () => ({ left: [], own: [] })
    await insertEmails(trx, workspaceId, some, macsOf)
    const more = [1, 2].map(() => newTestEmail(domainId) as PlainEmail)
    await insertEmails(trx, workspaceId, more, macsOf, {
      domains: [],
      addresses: ['a@mail.test'],
    })
  })
  return asked.map(({ sql: text }) => text).filter((text) => /^\s*with\s/.test(text))
}

/** How the statements read the tables, planned without their parameters. */
async function readsOf(texts: readonly string[]): Promise<{ table: string; condition: string }[]> {
  const reads: { table: string; condition: string }[] = []
  for (const text of texts) {
    const { rows } = await pool.query(`explain (generic_plan, format json) ${text}`)
    for (const node of nodesOf(rows[0]['QUERY PLAN'][0].Plan)) {
      const table = node['Relation Name'] ?? ''
      const { 'Index Cond': found, 'Recheck Cond': again } = node as unknown as Record<
        string,
        unknown
      >
      const condition = String(found ?? again ?? node['Node Type'])
      if (table in conditions && /Scan/.test(node['Node Type'])) reads.push({ table, condition })
    }
  }
  return reads
}

const at = '2026-01-01T00:00:00Z'
async function fill(from: number, to: number): Promise<void> {
  const ids = sql`generate_series(${from + 1}::int, ${to}::int) as n`
  await sql`insert into suppressions (workspace_id, email, reason, created_at)
    select w.id, n || '@mail.test', 'manual', ${at} from workspaces w, ${ids}`.execute(db)
  await sql`insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
    select 'con_' || n, w.id, n || '@mail.test', ${at}, ${at}, '', ${at}, ${at} from workspaces w, ${ids}`.execute(
    db,
  )
}

test('contacts, suppressions and receivers are looked for by what an email names, before the tables were ever analyzed, while they are empty, while they grow, and when they are full', {
  timeout: 120_000,
}, async () => {
  const statements = await statementsOf()
  expect(statements).toHaveLength(4)
  for (const reads of await whileTablesGrow(db, fill, () => readsOf(statements))) {
    // Contacts and domains are read before the email is written or by the statement that writes it, the others by all three that write.
    expect(reads).toHaveLength(2 * 2 + 3 * (Object.keys(conditions).length - 2))
    for (const { table, condition } of reads) expect(condition).toMatch(conditions[table] ?? /^$/)
  }
})
