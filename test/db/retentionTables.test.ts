// Every table is deleted by age, or it is said here why it is not; and what is deleted is found by an index.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Trx } from '../../db/connect.ts'
import { retentionParts } from '../../db/retention/parts.ts'
import { countOld } from '../../db/retention/reads.ts'
import { deleteRetentionPage } from '../../db/retention/writes.ts'
import { workerSettings } from '../../db/settings.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { ago, oldRows } from '../setup/oldRows.ts'
import { nodesOf, readBy } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase({ settings: workerSettings })

/** Tables of which nothing is deleted by age, and why. A new table gets a part in `db/retention/parts.ts`, or a place here. */
const kept: Record<string, string[]> = {
  'what operators and their customers have made: it grows with them and not with their mail': [
    ...['workspaces', 'users', 'api_keys', 'rate_limits', 'domains', 'domain_keys', 'domain_days'],
    ...['templates', 'template_versions', 'audiences', 'segments', 'segment_fills', 'secrets'],
    ...[
      'workflows',
      'workflow_versions',
      'workflow_triggers',
      'workflow_trigger_versions',
      'schedules',
    ],
    ...['webhooks', 'webhook_secrets'],
  ],
  'people, who stay until they are deleted': ['contacts', 'audience_contacts', 'segment_members'],
  'what somebody left outlives everything': ['opt_outs', 'address_keys', 'workflow_unsubscribes'],
  'a few rows of the service itself': [
    ...['lanes', 'temporal_namespaces', 'retention_parts', 'email_stat_history'],
    ...['kysely_migration', 'kysely_migration_lock'],
  ],
  'a row goes when what it is about is done': [
    ...['outbox', 'audience_changes', 'email_stat_changes', 'suspects', 'live_erasures'],
    ...['delivery_claims'],
  ],
  'delivery/unusedDomains.ts deletes what no mail has used for long': ['recipient_domains'],
  'mail, which callers read and links in it need': [
    ...['emails', 'email_links', 'email_tags', 'header_names', 'deliveries'],
  ],
  'hashes of the ids of erased events, which are refused for ever': ['spent_event_ids'],
  'executions and their events: the ids of events and `re_entry` are asked of them': [
    ...['automation_events', 'executions'],
  ],
}

test('every table has a part, or a reason to have none', async () => {
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'public'`.execute(db)
  const known = [...retentionParts.map(({ table }) => table), ...Object.values(kept).flat()]
  expect(rows.map(({ name }) => name).sort()).toEqual(known.sort())
})

const { db: noting, asked } = noteQueries(pool)
const listening = noting as unknown as Trx

/** How a part's statements read its table and others, over empty tables: an index must be there, whatever else the planner would like. */
async function readsOf(part: (typeof retentionParts)[number]): Promise<string[]> {
  asked.length = 0
  const before = ago(0)
  const texts: Record<string, string> = {
    timestamptz: '2026-01-01',
    date: '2026-01-01',
    bytea: '',
    uuid: '00000000-0000-0000-0000-000000000000',
  }
  const after = Object.values(part.key).map((type) => texts[type] ?? '1')
  await deleteRetentionPage(listening, part, { before, after: null, limit: 10 })
  await deleteRetentionPage(listening, part, { before, after, limit: 10 })
  await countOld(listening, part, { before, max: 10 })
  const reads = new Set<string>()
  for (const { sql: text } of asked) {
    const { rows } = await pool.query(`explain (generic_plan, format json) ${text}`)
    for (const node of nodesOf(rows[0]['QUERY PLAN'][0].Plan)) {
      const { 'Index Cond': cond } = node as typeof node & { 'Index Cond'?: string }
      const type = node['Node Type']
      if (!/Scan$/.test(type) || /^(CTE|Subquery|Tid) Scan$/.test(type)) continue
      const how = node['Index Name'] ? `by ${node['Index Name']}` : type
      // A partial index holds nothing else than what is asked for.
      const isBound = cond !== undefined || /job_failures_pkey/.test(how)
      if (type !== 'Bitmap Heap Scan') reads.add(isBound ? how : `${how}, all of it`)
    }
  }
  return [...reads].sort()
}

const indexes: Record<string, string[]> = {
  idempotency_keys: ['by idempotency_keys_age'],
  webhook_deliveries: ['by webhook_deliveries_pkey', 'by webhooks_pkey'],
  webhook_events: ['by webhook_deliveries_pkey', 'by webhook_events_pkey'],
  email_stats: ['by email_stats_hour'],
  email_firsts: ['by email_firsts_at'],
  email_attachments: ['by deliveries_email_id_recipient_key', 'by email_attachments_pkey'],
  email_sources: ['by deliveries_email_id_recipient_key', 'by email_sources_pkey'],
  delivery_attempts: [
    'by deliveries_email_id_recipient_key',
    'by deliveries_pkey',
    'by delivery_attempts_pkey',
  ],
  email_events: ['by email_events_visitors'],
  job_failures: ['by job_failures_pkey', 'by jobs_pkey'],
  jobs: ['by job_failures_pkey', 'by jobs_completed'],
  http_calls: ['by executions_pkey', 'by http_calls_age'],
  execution_segments: ['by execution_segments_pkey', 'by executions_pkey'],
  execution_steps: ['by execution_steps_pkey', 'by executions_pkey'],
  event_waits: ['by event_waits_pkey', 'by executions_pkey'],
  complaints: ['by complaints_age', 'by deliveries_pkey'],
  submitted_message_ids: ['by deliveries_email_id_recipient_key', 'by submitted_message_ids_email'],
  suppressions: ['by suppressions_expired'],
  erased_suppressions: ['by erased_suppressions_expired'],
  soft_bounces: ['by deliveries_email_id_recipient_key', 'by soft_bounces_cleared'],
  former_tokens: ['by former_tokens_expired'],
  email_days: ['by email_days_day'],
}

test.each(retentionParts.map((part) => [part.table, part] as const))(
  'old rows of %s are found by an index',
  async (table, part) => {
    expect(await readsOf(part)).toEqual(indexes[table])
  },
)

test('a page reads no more rows than its limit, however many are young or are kept', async () => {
  const { rows: made } = await sql<{ id: string }>`
    insert into workspaces values ('ws_1', 'test', now()) returning id`.execute(db)
  const [workspace] = made
  for (const { write, table } of oldRows) {
    if (table !== 'former_tokens') await write(db, workspace?.id ?? '')
  }
  await sql`
    insert into http_calls (execution_id, segment, node_id, workspace_id, lap, created_at)
    select 'exe_' || n, 0, 'n', 'ws_1', 1, ${ago(500)}::timestamptz + n * interval '1 minute'
    from generate_series(1, 20000) n`.execute(db)
  await sql`analyze`.execute(db)
  const part = retentionParts.find(({ table }) => table === 'http_calls')
  if (!part) throw new Error('http_calls has no part')
  asked.length = 0
  const given = { before: ago(0), after: null, limit: 50 }
  const { next } = await deleteRetentionPage(listening, part, given)
  await deleteRetentionPage(listening, part, { ...given, after: next })
  const counted = await countOld(listening, part, { before: ago(0), max: 50 })
  expect([counted.count, counted.is_all]).toEqual([0, false])
  for (const { sql: text, parameters } of asked) {
    const { rows } = await pool.query(`explain (analyze, format json) ${text}`, [...parameters])
    for (const node of nodesOf(rows[0]['QUERY PLAN'][0].Plan)) {
      const read = readBy(node)
      expect([node['Node Type'], read <= 50]).toEqual([node['Node Type'], true])
    }
  }
})
