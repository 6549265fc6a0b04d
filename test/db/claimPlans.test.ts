// How a claim reads its tables: by indexes, and only the rows that it takes.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { type Claim, claimDeliveries } from '../../db/deliveries/claim.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { applySettings } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf } from '../setup/planNodes.ts'
import { queueAt } from '../setup/queue.ts'

// As the connections of a worker.
const { db, pool } = await createTestDatabase({ settings: { enable_seqscan: 'off' } })
const NOW = new Date('2026-03-02T09:00:00Z')

const { after, queue } = queueAt(db, NOW)

beforeEach(() => sql`truncate deliveries`.execute(db))

/** Tables that the look reads beside the deliveries. */
const LOOKED_AT = ['executions', 'opt_outs', 'suppressions', 'emails', 'contacts']

/** Runs a claim under EXPLAIN ANALYZE, by the plan that a connection keeps. @returns how it read the table */
async function planOf(asked: Claim) {
  const { db: listening, asked: sent } = noteQueries(pool)
  await transact({ db: listening, wake: () => undefined }, async (inTrx) => {
    await applySettings(inTrx.db)
    await claimDeliveries(inTrx.db, { ...asked, now: new Date(0) })
  })
  const [settings, statement] = sent.filter((query) => /set_config|delivery_claims/.test(query.sql))
  const parameters = (statement?.parameters ?? []).map((value) =>
    value instanceof Date && value.getTime() === 0 ? asked.now : value,
  )
  const client = await pool.connect()
  await client.query('begin')
  await client.query(settings?.sql ?? '', [...(settings?.parameters ?? [])])
  const { rows } = await client.query(
    `explain (analyze, format json) ${statement?.sql}`,
    parameters,
  )
  await client.query('commit')
  client.release()
  const reads = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)].filter(
    (node) => node['Relation Name'] === 'deliveries' && /Scan/.test(node['Node Type']),
  )
  const others = new Map<string, number>()
  for (const node of nodesOf(rows[0]['QUERY PLAN'][0].Plan)) {
    const { 'Relation Name': table = '', 'Actual Rows': read, 'Actual Loops': loops } = node
    if (!LOOKED_AT.includes(table) || loops === 0) continue
    const dropped = node['Rows Removed by Filter'] ?? 0
    others.set(node['Index Name'] ?? node['Node Type'], Math.round((read + dropped) * loops))
  }
  return {
    others,
    indexes: reads.map((node) => node['Index Name'] ?? node['Node Type']).sort(),
    read: reads.map((node) => Math.round(node['Actual Rows'] * node['Actual Loops'])),
    dropped: reads.reduce(
      (sum, node) => sum + Math.round((node['Rows Removed by Filter'] ?? 0) * node['Actual Loops']),
      0,
    ),
  }
}

/** Forty of all that waits. */
async function someIds(): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from deliveries where lease_until is null order by id % 97, id limit 40`.execute(db)
  return rows.map(({ id }) => id)
}
const cancelledExecutions = () =>
  sql`insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id,
      ended_status, completed_at, created_at, updated_at)
    select 'exe_' || i, 'ws_1', 'wf_1', 1, 'ct_' || i, 'x', 't', 'CANCELLED', now(), now(), now()
    from generate_series(1, 20000) i on conflict do nothing`.execute(db)
const claimOf = (ids: number[]): Claim => ({
  ids,
  shards: { from: 0, to: 64 },
  leaseToken: '00000000-0000-0000-0000-000000000001',
  leaseMs: 60_000,
  now: after(3_600_000),
})

test('a claim reads only the rows that it takes, by their ids', async () => {
  await queue(100_000)
  await sql`analyze deliveries`.execute(db)
  const plan = await planOf(claimOf(await someIds()))
  expect([...new Set(plan.indexes)].sort()).toEqual(['Tid Scan', 'deliveries_pkey'])
  for (const read of plan.read) expect(read).toBe(40)
  expect(plan.dropped).toBe(0)
})

test('the look reads rows of its 40 deliveries alone, whatever the other tables hold', async () => {
  await queue(20_000)
  await sql`update deliveries set marketing = true, address_hmac = sha256(id::text::bytea),
    workflow_id = 'wf_1', execution_id = 'exe_' || id`.execute(db)
  await cancelledExecutions()
  await sql`insert into suppressions
    select 'ws_1', 'gone' || i || '@x.test', 'bounce', null, now(), null from generate_series(1, 20000) i`.execute(
    db,
  )
  await sql`insert into opt_outs
    select 'opt_' || i, 'ws_1', 'workflow', 'wf_1', sha256(('gone' || i)::bytea), 'link', null, now()
    from generate_series(1, 20000) i`.execute(db)
  // Statistics of before, too: a plan that hopes for small tables would read them whole.
  for (const analyzed of [false, true]) {
    if (analyzed) await sql`analyze`.execute(db)
    const { others } = await planOf(claimOf(await someIds()))
    expect([...others.keys()].sort()).toEqual([
      'executions_pkey',
      'opt_outs_workspace_id_address_hmac_scope_target_id_key',
      'suppressions_pkey',
    ])
    for (const read of others.values()) expect(read).toBeLessThanOrEqual(40)
  }
})

test('the look asks for the contact of mail to the team alone, by ids', async () => {
  await queue(20_000)
  await cancelledExecutions()
  await sql`update deliveries set marketing = false`.execute(db)
  await sql`insert into emails (id, workspace_id, type, category, "from", "to", subject, domain_id, message_id, execution_id, created_at)
    select distinct email_id, 'ws_1', 'transactional', 'transactional', 'a@x.test', array['b@x.test'], 's', 'dom_1', email_id,
      'exe_' || (abs(hashtext(email_id)) % 20000 + 1), now()
    from deliveries on conflict do nothing`.execute(db)
  await sql`insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
    select 'ct_' || i, 'ws_1', 'c' || i || '@x.test', now(), now(), 'seen', now(), now() from generate_series(1, 20000) i`.execute(
    db,
  )
  for (const isToTeam of [false, true]) {
    await sql`update deliveries set to_team = ${isToTeam}`.execute(db)
    const { others } = await planOf(claimOf(await someIds()))
    const ofTeam = ['contacts_pkey', 'emails_pkey', 'executions_pkey']
    expect([...others.keys()].sort()).toEqual([...(isToTeam ? ofTeam : []), 'suppressions_pkey'])
    for (const read of others.values()) expect(read).toBeLessThanOrEqual(40)
  }
})
