// The migration that brings statistics counts the mail of before it, in pages, once, also when it is broken off.
import { Kysely, type KyselyPlugin, PostgresDialect } from 'kysely'
import { expect, test } from 'vitest'
import { up } from '../../db/migrations/2026-11-23-40-email-stats.ts'
import { listEmailStats } from '../../db/stats/reads.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { statGroups } from '../../rules/stats.ts'
import { foldAllEmailStats } from '../../worker/emailStats.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { countLedger, listHappened } from '../setup/mailStats.ts'
import { runSql } from '../setup/template.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api
const domainId = await insertTestDomain(api, 'sender.test')

/** More than a page of each table. */
const MAILS = 2_500

const asBefore = `
  drop trigger count_accepted on deliveries;
  drop trigger count_email_events on email_events;
  drop trigger recount_email_events on email_events;
  drop trigger count_complaint on complaints;
  drop trigger count_unsubscribe on automation_events;
  drop table email_stats, email_stat_changes, email_firsts, email_stat_history;
`

const rowsOfBefore = `
  insert into emails (id, workspace_id, type, category, "from", "to", subject, domain_id, message_id, workflow_id, tags, created_at)
  select 'em_' || i, '${workspaceId}', 'transactional', 'transactional', 'a@sender.test', array['c' || i || '@x.test'], 'S',
    '${domainId}', 'm' || i, case when i % 3 = 0 then 'wf_1' end, case when i % 2 = 0 then '{"k": "v"}' else '{}' end::jsonb,
    timestamptz '2026-01-01 00:30Z' + i * interval '1 minute'
  from generate_series(1, ${MAILS}) i;
  insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at)
  select id, workspace_id, domain_id, "to"[1], 1, 'queued', created_at, created_at, created_at from emails;
  insert into email_events (email_id, workspace_id, recipient, status, at, data, machine)
  select m.id, m.workspace_id, m."to"[1], e.status, m.created_at + e.later, e.data::jsonb, e.machine
  from emails m cross join (values ('sent', interval '0', '{}', null), ('delivered', '20 minutes', '{}', null),
    ('bounced', '1 hour', '{"subtype": "General"}', null), ('opened', '50 minutes', '{}', 'proxy'),
    ('opened', '3 hours', '{}', null), ('opened', '2 hours', '{}', null), ('clicked', '4 hours', '{}', null)
  ) as e(status, later, data, machine)
  where e.status <> 'clicked' or m.workflow_id is not null;
  insert into complaints (delivery_id, workspace_id, at)
  select id, workspace_id, created_at + interval '5 hours' from deliveries where id % 100 = 0;
  insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email, properties, at, created_at)
  select 'evt_' || n || '_' || email_id, workspace_id, 'ct', 'evt_' || n || '_' || email_id, 'email.unsubscribed', recipient,
    jsonb_build_object('email_id', email_id), created_at + n * interval '6 hours', created_at
  from deliveries cross join generate_series(1, 2) n where id % 50 = 0;
`

/** A handle that refuses the statements after so many. */
function failingAfter(statements: number) {
  let count = 0
  const dialect = new PostgresDialect({ pool: api.pool })
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      if (++count > statements) throw new Error('broken off')
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return new Kysely<unknown>({ dialect, plugins: [plugin] })
}

async function expectLedger(): Promise<void> {
  const reach = wholeWorkspace(workspaceId)
  const happened = await listHappened(db, reach)
  for (const group of [null, ...statGroups]) {
    const asked = { interval: 'hour', group } as const
    const hours = { from: 0, to: 1_000_000 }
    const rows = await listEmailStats(db, reach, { hours, ...asked, limit: 1_000_000 })
    expect(rows).toEqual(countLedger(happened, asked))
    if (group === null) expect(rows.reduce((sum, { opened }) => sum + opened, 0)).toBe(MAILS)
  }
}

test('rows of before are counted once, however often it runs, and those of meanwhile once too', async () => {
  await runSql(api.url, asBefore)
  await runSql(api.url, rowsOfBefore)
  // Each time it is broken off a little later, by a statement that Postgres refuses.
  for (const statements of [8, 17, 20, 22, 26, 33, 36]) {
    await expect(up(failingAfter(statements) as never)).rejects.toThrow('broken off')
  }
  await up(db as never)
  await expectLedger()
  await up(db as never)
  await expectLedger()
  await foldAllEmailStats(deps)
  const id = (
    await api.request<{ id: string }>('POST', '/v1/emails', {
      ...{ from: 'a@sender.test', to: 'new@x.test', subject: 'S', text: 'T' },
    })
  ).body.id
  expect(id).toMatch(/^em_/)
  await expectLedger()
})
