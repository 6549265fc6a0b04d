// Mail to the team about an erased contact is walked over in pages that each read their own alone, however much there is.
import { beforeAll, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { listTeamMail } from '../../db/contacts/teamMail.ts'
import { type TeamPlace, walkTeamMail } from '../../db/contacts/teamMailWalk.ts'
import { workerSettings } from '../../db/settings.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf, readBy } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase({ settings: workerSettings })
const WORKSPACE = 'ws_1' as WorkspaceId
const LIMIT = 100
const whom = { contactId: 'ct_0', email: 'ada@person.test' }

// One execution has sent a thousand mails, every third of the others one; a tenth of the mail is under way.
beforeAll(async () => {
  await pool.query(`insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id,
      ended_status, created_at, updated_at, completed_at)
    select 'exe_' || lpad(n::text, 5, '0'), 'ws_1', 'wf_1', 1, 'ct_' || n % 2, '', 'start',
      case n % 3 when 0 then 'COMPLETED' else 'CANCELLED' end, now(), now(), now() - n / 7 * interval '1 minute'
    from generate_series(1, 3000) n`)
  await pool.query(`insert into emails (id, workspace_id, type, category, "from", "to", subject, text, domain_id, message_id,
      execution_id, created_at)
    select 'email_' || lpad(n::text, 5, '0'), 'ws_1', 'transactional', 'transactional', 'a@x.test', array['b@x.test'], 's', 't',
      'dom_1', n, 'exe_' || lpad(case when n <= 1000 then '600' else n::text end, 5, '0'), now()
    from generate_series(1, 3000) n where n <= 1000 or n % 3 = 1`)
  await pool.query(`insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at,
      destination, to_team)
    select id, 'ws_1', 'dom_1', 'b@x.test', 1, 'queued', now(), now(), now(), 'x.test', true from emails`)
  await pool.query(
    `update deliveries set state = 'cancelled', settled_at = now() where id % 10 > 0`,
  )
  await pool.query('analyze')
})

test('each mail that has ended is on one page, and a page reads no others', async () => {
  const { db: watched, asked } = noteQueries(pool)
  const found: string[] = []
  let after: TeamPlace | null = null
  do {
    const page: Awaited<ReturnType<typeof walkTeamMail>> = await transact(
      { db: watched, wake: () => undefined },
      ({ db: trx }) => walkTeamMail(trx, WORKSPACE, whom, { after, limit: LIMIT }),
    )
    expect(page.ids.length).toBeLessThanOrEqual(LIMIT)
    found.push(...page.ids)
    after = page.next
  } while (after)
  const all = await transact({ db, wake: () => undefined }, ({ db: trx }) =>
    listTeamMail(trx, WORKSPACE, whom, 10_000),
  )
  expect(all.length).toBeGreaterThan(1_000)
  expect(found.toSorted()).toEqual(all)

  const pages = asked.filter(({ sql }) => /walked/.test(sql))
  expect(pages.length).toBeGreaterThan(15)
  for (const { sql, parameters } of pages) {
    const { rows } = await pool.query(`explain (analyze, format json) ${sql}`, [...parameters])
    for (const node of nodesOf(rows[0]['QUERY PLAN'][0].Plan)) {
      if (!node['Relation Name']) continue
      // The last pages come by a bitmap of what is left.
      const read = readBy(node)
      expect(read, `${node['Node Type']} ${node['Relation Name']}`).toBeLessThanOrEqual(3 * LIMIT)
    }
  }
})
