// Every table has a decision on what becomes of a person in it when their contact is erased; a new table has to get one.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'

const { db } = await createTestDatabase()

/** What an erasure does to the rows that are about the person. */
const decisions: Record<string, string> = {
  deleted: `contacts audience_contacts automation_events segment_members event_waits email_attachments email_links email_tags
    email_sources submitted_message_ids header_names soft_bounces outbox`,
  blanked: `emails deliveries delivery_attempts email_events executions execution_steps http_calls webhook_events
    idempotency_keys jobs schedules email_stats email_stat_changes`,
  'kept as keyed hashes': 'suppressions erased_suppressions live_erasures opt_outs spent_event_ids',
  // Ids, numbers and times of them.
  'names nobody': `execution_segments audience_changes complaints email_firsts delivery_claims webhook_deliveries workflow_unsubscribes suspects
    segment_fills rate_limits email_days domain_days email_stat_history lanes recipient_domains temporal_namespaces
    workflow_triggers workflow_trigger_versions retention_parts kysely_migration kysely_migration_lock`,
  // What callers have written for all contacts, or about themselves.
  'of the workspace': `workspaces users api_keys former_tokens domains domain_keys address_keys templates template_versions
    audiences workflows workflow_versions segments secrets webhooks webhook_secrets job_failures`,
}

test('every table has a decision', async () => {
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(db)
  const decided = Object.values(decisions).flatMap((names) => names.split(/\s+/))
  expect(new Set(decided).size).toBe(decided.length)
  expect(rows.map(({ name }) => name).sort()).toEqual(decided.sort())
})
