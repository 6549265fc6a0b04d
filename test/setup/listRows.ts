// Fills every listed table by SQL: few rows of the owner whose lists are read, and many newer rows of others.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { TestApi } from './api.ts'
import type { Tenant } from './tenant.ts'

/**
 * Rows of the owner: three pages. They are the oldest, so that a scan from the newest row does not find them soon.
 */
const OWN = 120
/** Number of the last row: rows of other owners in the same workspace, then rows of another workspace. */
const WORKSPACE = 6_000
const ALL = 12_000

const id = (prefix: string) => `'${prefix}_' || lpad(n::text, 26, '0')`
const at = `timestamptz '2026-01-01' + n * interval '1 s'`
const email = `'c-' || lpad(n::text, 9, '0') || '@example.test'`
const own = (value: string, prefix: string) =>
  `case when n <= ${OWN} then '${value}' else '${prefix}_other' || n % 50 end`

interface Owners {
  workspaceId: WorkspaceId
  userId: string
  workflow: string
  execution: string
  contact: string
  audience: string
  domain: string
  webhook: string
  job: string
}

/** Half of the owner's mail is of a broadcast: with two filters the rows that one finds and the other drops are read. */
function statements(o: Owners): string[] {
  const workspace = `case when n <= ${WORKSPACE} then '${o.workspaceId}' else 'ws_other' end`
  return [
    `emails (id, workspace_id, type, category, "from", "to", subject, html, domain_id, message_id, workflow_id,
      execution_id, node_id, created_at)
    select ${id('em')}, ${workspace}, case when n <= ${OWN / 2} then 'broadcast' else 'transactional' end,
      'transactional', case when n <= ${OWN} then 'Own <own@b.test>' else 'a@b.test' end, array[${email}], 'Subject',
      '<p>x</p>', ${own(o.domain, 'dom')}, n, ${own(o.workflow, 'wf')}, ${own(o.execution, 'exe')}, 'mail', ${at}`,
    `deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at,
      settled_at)
    select ${id('em')}, ${workspace}, 'dom', case when n <= ${OWN} then 'own@example.test' else ${email} end, 1,
      'delivered', ${at}, ${at}, ${at}, ${at}`,
    `email_tags (workspace_id, tag, email_id)
    select ${workspace}, ${own('k:v', 'k:')}, ${id('em')}`,
    `email_events (email_id, workspace_id, recipient, status, at)
    select ${id('em')}, ${workspace}, ${email}, case when n <= ${OWN} then 'bounced' else 'delivered' end, ${at}`,
    `deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at,
      settled_at, marketing, address_hmac)
    select 'm' || n, ${workspace}, 'dom', ${email}, 1, 'delivered', ${at}, ${at}, ${at}, ${at}, true,
      case when n <= ${OWN} then decode(repeat('01', 16), 'hex') else decode(md5((n % 500)::text), 'hex') end`,
    `delivery_attempts (delivery_id, attempt, started_at, ended_at, outcome)
    select n, 1, ${at}, ${at}, 'delivered'`,
    `email_events (email_id, workspace_id, recipient, status, at)
    select ${id('em')}, ${workspace}, ${email}, 'sent', ${at}`,
    `email_stats (workspace_id, kind, hour, domain_id, value, sent)
    select ${workspace}, (array['domain', 'tag', 'workflow', 'broadcast', 'provider'])[1 + n % 5], stat_hour(${at}),
      ${own(o.domain, 'dom')}, n, 1`,
    `suppressions (workspace_id, email, reason, created_at)
    select ${workspace}, ${email}, 'bounce', ${at}`,
    `audiences (id, workspace_id, name, created_by, created_at, updated_at)
    select ${id('aud')}, ${workspace}, 'A', '${o.userId}', ${at}, ${at}`,
    `audience_contacts (id, audience_id, workspace_id, email, created_at, updated_at)
    select ${id('ac')}, ${own(o.audience, 'aud')}, ${workspace}, ${email}, ${at}, ${at}`,
    `audience_changes (audience_id, contacts, unsubscribers)
    select ${id('aud')}, 1, 0`,
    `domains (id, workspace_id, name, created_by, created_at)
    select ${id('dom')}, ${workspace}, 'd' || n || '.test', '${o.userId}', ${at}`,
    `domain_keys (id, domain_id, workspace_id, selector, algorithm, public_key, private_key, created_at, activated_at)
    select ${id('dk')}, ${id('dom')}, ${workspace}, 's', 'rsa', 'none', '', ${at}, ${at}`,
    `templates (id, workspace_id, name, current_version, created_at, updated_at)
    select ${id('tpl')}, ${workspace}, 'T', 1, ${at}, ${at}`,
    `template_versions (template_id, version, workspace_id, subject, created_at)
    select ${id('tpl')}, 1, ${workspace}, 'S', ${at}`,
    `api_keys (id, workspace_id, user_id, name, prefix, token_hash, permission, created_at)
    select ${id('key')}, ${workspace}, '${o.userId}', 'K', 'dk_', sha256(n::text::bytea), 'read_only', ${at}`,
    `webhooks (id, workspace_id, domain_id, url, events, status, created_at, updated_at)
    select ${id('wh')}, ${workspace}, ${own(o.domain, 'dom')}, 'https://a.test', '{*}', 'enabled', ${at}, ${at}`,
    `jobs (id, workspace_id, domain_id, kind, status, input, created_at, updated_at)
    select ${id('job')}, ${workspace}, ${own(o.domain, 'dom')}, 'replay', 'completed', '{}', ${at}, ${at}`,
    `job_failures (job_id, line, error)
    select ${own(o.job, 'job')}, n, 'no address'`,
    `webhook_events (id, workspace_id, type, at, data)
    select md5('e' || n)::uuid, ${workspace}, 'email.sent', ${at}, '{}'`,
    `webhook_deliveries (id, webhook_id, event_id, workspace_id, state, next_at, created_at)
    select md5(n::text)::uuid, ${own(o.webhook, 'wh')}, md5('e' || n)::uuid, ${workspace},
      (array['pending', 'succeeded', 'failed'])[1 + n % 3], case when n % 3 = 0 then ${at} end, ${at}`,
    `secrets (workspace_id, name, value, created_at, updated_at)
    select ${workspace}, 'S' || n, '', ${at}, ${at}`,
    `workflows (id, workspace_id, name, status, current_version, created_by, created_by_type, created_at,
      updated_at)
    select ${id('wf')}, ${workspace}, 'W', (array['draft', 'active', 'paused'])[1 + n % 3], 1, 'u', 'user', ${at},
      ${at}`,
    `workflow_versions (workflow_id, version, workspace_id, design, created_by, created_at)
    select ${own(o.workflow, 'wf')}, n + 1, ${workspace}, '{}', 'u', ${at}`,
    `contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
    select ${id('ct')}, ${workspace}, ${email}, ${at}, ${at}, 'e', ${at}, ${at}`,
    `segments (id, workspace_id, name, condition, named_ids, kept, event_names, created_at, updated_at)
    select ${id('seg')}, ${workspace}, 'S', '{"type": "or", "rules": []}',
      case when n % 2 = 0 then array['seg_' || lpad((n - 1)::text, 26, '0')] else '{}' end, n % 300 = 0,
      array['e'], ${at}, ${at}`,
    `segment_members (contact_id, segment_id, workspace_id, generation, is_member, next_look_at)
    select case when n <= ${OWN} then '${o.contact}' else ${id('ct')} end, ${id('seg')}, ${workspace}, 1, true,
      case when n % 3 = 0 then ${at} end`,
    `segment_fills (segment_id, workspace_id, generation, next_at)
    select ${id('seg')}, ${workspace}, 1, ${at}`,
    `automation_events (id, workspace_id, contact_id, event_id, event_name, email, at, created_at)
    select ${id('evt')}, ${workspace}, ${own(o.contact, 'ct')}, ${id('evt')}, 'e', ${email}, ${at}, ${at}`,
    `executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, ended_status,
      created_at, updated_at, completed_at)
    select ${id('exe')}, ${workspace}, ${own(o.workflow, 'wf')}, 1, ${own(o.contact, 'ct')}, ${email}, 'start',
      (array['COMPLETED', 'FAILED', 'CANCELLED', null])[1 + n % 4], ${at}, ${at},
      case when n % 4 < 3 then ${at} end`,
    `execution_steps (execution_id, seq, segment, node_id, type, at)
    select ${own(o.execution, 'exe')}, n, 0, 'n', 'exit', ${at}`,
    `execution_segments (execution_id, segment, result, created_at)
    select ${id('exe')}, 0, '{}', ${at}`,
    `outbox (kind, execution_id, workspace_id, workflow_id, contact_id, next_at, created_at)
    select 'start', ${id('exe')}, ${workspace}, ${own(o.workflow, 'wf')}, ${own(o.contact, 'ct')}, ${at}, ${at}
    from generate_series(1, ${ALL}) as n where n % 40 = 0 and n > ${OWN} union all select 'cancel', ${id('exe')},
      ${workspace}, ${own(o.workflow, 'wf')}, ${own(o.contact, 'ct')}, ${at}, ${at}`,
  ]
}

/** Inserts the rows and analyzes the tables, so that the planner has real statistics. */
export async function seedListRows(
  { db, pool, userId }: Pick<TestApi, 'db' | 'pool' | 'userId'>,
  tenant: Tenant,
): Promise<void> {
  const contact = await db
    .selectFrom('contacts')
    .select('id')
    .where('email', '=', tenant.contact)
    .executeTakeFirstOrThrow()
  const { ids, workspaceId } = tenant
  const owners = {
    workspaceId,
    userId,
    workflow: ids['workflows'] ?? '',
    execution: ids['executions'] ?? '',
    contact: contact.id,
    audience: ids['audiences'] ?? '',
    domain: ids['domains'] ?? '',
    webhook: ids['webhooks'] ?? '',
    job: ids['jobs'] ?? '',
  }
  const client = await pool.connect()
  try {
    // Foreign keys are not checked; most rows of others refer to nothing.
    await client.query('set session_replication_role = replica')
    for (const statement of statements(owners)) {
      await client.query(`insert into ${statement} from generate_series(1, ${ALL}) as n`)
    }
    await client.query('reset session_replication_role')
  } finally {
    client.release()
  }
  await sql`analyze`.execute(db)
}
