// Mail to others that names an erased contact is walked over in pages that each read their own alone, however much there is.
import { beforeAll, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { listNamingMail, walkNamingMail } from '../../db/contacts/namingMail.ts'
import { workerSettings } from '../../db/settings.ts'
import { firstIdAt, type WorkspaceId } from '../../rules/ids.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf, readBy } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase({ settings: workerSettings })
const WORKSPACE = 'ws_1' as WorkspaceId
const LIMIT = 100
const email = 'ada@person.test'
const whom = { contactId: 'ct_0', email, deliveryId: 2_900, at: new Date(), isCustomers: false }
const id = firstIdAt('email', Date.now()).slice(0, -6)

// A third of the mail asks to answer them first, a third last, and a third somebody else; a tenth of it is under way, and the last was sent later.
beforeAll(async () => {
  await pool.query(
    `insert into emails (id, workspace_id, type, category, "from", "to", reply_to, subject, text, domain_id, message_id, created_at)
      select $1 || lpad(n::text, 6, '0'), 'ws_1', 'transactional', 'transactional', 'a@x.test', array['b@x.test'],
        case n % 3 when 0 then array['Ada <' || $2::text || '>'] when 1 then array['c@x.test', $2] else array['c@x.test'] end, 's', 't',
        'dom_1', n, now()
      from generate_series(1, 3000) n`,
    [id, email],
  )
  await pool.query(`insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at,
      destination)
    select id, 'ws_1', 'dom_1', 'b@x.test', 1, 'queued', now(), now(), now(), 'x.test' from emails order by id`)
  await pool.query(
    `update deliveries set state = 'cancelled', settled_at = now() where id % 10 > 0`,
  )
  await pool.query('analyze')
})

test('each mail that is to be blanked is on one page, and a page reads no others', async () => {
  const { db: watched, asked } = noteQueries(pool)
  const found: string[] = []
  for (let after: string | null = ''; after !== null; ) {
    const page: Awaited<ReturnType<typeof walkNamingMail>> = await transact(
      { db: watched, wake: () => undefined },
      ({ db: trx }) =>
        walkNamingMail(trx, WORKSPACE, whom, { after: after ?? '', waits: true, limit: LIMIT }),
    )
    found.push(...page.mails.map((mail) => mail.email_id))
    after = page.next
  }
  const all = await transact({ db, wake: () => undefined }, ({ db: trx }) =>
    listNamingMail(trx, WORKSPACE, whom, { waits: true, limit: 10_000 }),
  )
  expect(all).toHaveLength(1_740)
  expect(found).toEqual(all.map((mail) => mail.email_id))

  const pages = asked.filter(({ sql }) => /header_names/.test(sql))
  expect(pages.length).toBeGreaterThan(15)
  for (const { sql, parameters } of pages) {
    const { rows } = await pool.query(`explain (analyze, format json) ${sql}`, [...parameters])
    for (const node of nodesOf(rows[0]['QUERY PLAN'][0].Plan)) {
      if (!node['Relation Name']) continue
      const read = readBy(node)
      expect(read, `${node['Node Type']} ${node['Relation Name']}`).toBeLessThanOrEqual(3 * LIMIT)
    }
  }
})
