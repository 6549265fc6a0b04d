// The list of what was sent passes over scheduled mail, however much of it waits or was cancelled, by indexes.
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import { expect, test } from 'vitest'
import { listEmails } from '../../db/emails/reads.ts'
import type { Database } from '../../db/schema.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { nodesOf } from '../setup/planNodes.ts'

const api = await createTestApi()
const { db, pool, workspaceId } = api
const domainId = await insertTestDomain(api, 'sender.test')
const reach = wholeWorkspace(workspaceId)
const LIMIT = 50
const WAITING = 30_000
const AT_ONCE = 6_000

/**
 * Emails by number, the newest last: first some that were sent at once, then scheduled ones of which every hundredth was sent, every
 * third of the others cancelled.
 */
async function seed(): Promise<void> {
  const isSent = 'i <= 6000 or i % 100 = 0'
  await db.transaction().execute(async (trx) => {
    // No trigger needs to hear of them.
    await sql`set local session_replication_role = replica`.execute(trx)
    await sql`
    insert into emails (id, workspace_id, type, category, "from", "to", subject, domain_id, message_id, scheduled_at, created_at)
    select 'em_' || lpad(i::text, 26, '0'), ${workspaceId}, 'transactional', 'transactional', 'a@sender.test', '{}', 'S',
      ${domainId}, 'm' || i, case when i > 6000 then now() end, now() from generate_series(1, ${WAITING}::int) i`.execute(
      trx,
    )
    await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, due_at, expires_at, created_at,
      scheduled, ready, settled_at)
    select 'em_' || lpad(i::text, 26, '0'), ${workspaceId}, ${domainId}, 'r' || i || '@x.test', i % 64,
      case when ${sql.raw(isSent)} then 'delivered' when i % 3 = 0 then 'cancelled' else 'queued' end, t.at,
      case when i > 6000 and (i % 3 <> 0 or i % 100 = 0) then t.at end, t.at, now(),
      i > 6000 and i % 100 <> 0 and i % 3 <> 0, false,
      case when (${sql.raw(isSent)}) or i % 3 = 0 then now() end
    from generate_series(1, ${WAITING}::int) i, (select now() + interval '1 day' as at) t`.execute(
      trx,
    )
    await sql`
    insert into email_events (email_id, workspace_id, recipient, status, at)
    select 'em_' || lpad(i::text, 26, '0'), ${workspaceId}, 'r' || i || '@x.test',
      case when ${sql.raw(isSent)} then 'sent' else 'scheduled' end, now()
    from generate_series(1, ${WAITING}::int) i`.execute(trx)
  })
  await sql`analyze emails, deliveries, email_events`.execute(db)
}

const idOf = (n: number) => `em_${String(n).padStart(26, '0')}`

test('pages of what was sent are whole, and read a page each', async () => {
  await seed()
  const sent: CompiledQuery[] = []
  const listening = new Kysely<Database>({
    dialect: new PostgresDialect({ pool }),
    log: ({ query }) => void sent.push(query),
  })
  const listed: string[] = []
  for (let after: string | null = null; ; after = listed.at(-1) ?? null) {
    const filter = { status: 'sent' } as const
    const rows = await listEmails(listening, reach, { after, limit: LIMIT, filter })
    if (rows.length === 0) break
    listed.push(...rows.map(({ id }) => id))
  }
  const expected = Array.from({ length: WAITING }, (_, i) => i + 1)
    .filter((n) => n <= AT_ONCE || n % 100 === 0)
    .reverse()
  expect(listed).toEqual(expected.map(idOf))

  for (const query of sent.filter(({ sql: text }) => text.includes('order by emails.id'))) {
    const { rows } = await pool.query(`explain (analyze, format json) ${query.sql}`, [
      ...query.parameters,
    ])
    const plan = rows[0]['QUERY PLAN'][0].Plan
    for (const node of nodesOf(plan)) {
      const dropped = (node['Rows Removed by Filter'] ?? 0) * node['Actual Loops']
      const read = node['Actual Rows'] * node['Actual Loops']
      const what = `${node['Node Type']} ${node['Index Name'] ?? ''}`
      expect([what, dropped > 100, read > 4 * LIMIT]).toEqual([what, false, false])
    }
  }
})
