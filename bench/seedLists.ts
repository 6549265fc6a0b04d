// Fills every list with rows by SQL, for one large workspace and an older, smaller one.

import pg from 'pg'
import type { WorkspaceId } from '../rules/ids.ts'
import { createWorkspace, newId, type Workspace } from './workspace.ts'

/** Statements at a time, to use two cores. */
const AT_A_TIME = 2
/** Tables in which the other workspace has rows too: a fifth as many, all older. */
const SHARED = [
  'emails',
  'audiences',
  'domains',
  'templates',
  'template_versions',
  'api_keys',
  'workflows',
  'contacts',
]
const OTHERS_SHARE = 5

/** The ids that the rows of all lists belong to. */
export interface Owners {
  workspaceId: WorkspaceId
  userId: string
  domainId: string
  /** Holds the audience contacts. */
  audienceId: string
  /** Has the versions, the emails and the executions. */
  workflowId: string
  /** Has the events and, too, the executions. */
  contactId: string
  contactEmail: string
  /** Has the steps. */
  executionId: string
}

/** The id of the row with that number: valid, and older than any new id. */
export function seededId(prefix: string, serial: number): string {
  return `${prefix}_${serial.toString(16).toUpperCase().padStart(26, '0')}`
}

const FIRST_MS = Date.UTC(2025, 0, 1)

/** Creation time of the row with that number, in ms. */
export const seededTime = (serial: number) => FIRST_MS + serial * 1_000

/** The address of the row with that number. Addresses sort like the numbers. */
export const seededEmail = (serial: number) =>
  `contact-${String(serial).padStart(9, '0')}@example.test`

const id = (prefix: string) => `'${prefix}_' || lpad(upper(to_hex(n)), 26, '0')`
const at = `to_timestamp(${FIRST_MS / 1000} + n)`
const email = `'contact-' || lpad(n::text, 9, '0') || '@example.test'`

function statements(o: Owners): Record<string, string> {
  return {
    emails: `insert into emails (id, workspace_id, type, category, "from", "to", subject, html, domain_id,
        message_id, workflow_id, execution_id, node_id, created_at)
      select ${id('em')}, '${o.workspaceId}', 'transactional', 'transactional', 'Shop <hello@sender.test>',
        array[${email}], 'Receipt ' || n, '<p>Thank you for order ' || n || '</p>', '${o.domainId}',
        n || '@sender.test', '${o.workflowId}', ${id('exe')}, 'mail', ${at}`,
    deliveries: `insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, attempt, next_at,
        expires_at, created_at, settled_at)
      select ${id('em')}, '${o.workspaceId}', 'dom', ${email}, n % 64, 'delivered', 1, ${at}, ${at}, ${at}, ${at}`,
    email_events: `insert into email_events (email_id, workspace_id, recipient, status, at)
      select ${id('em')}, '${o.workspaceId}', ${email}, 'sent', ${at}`,
    audiences: `insert into audiences (id, workspace_id, name, created_by, created_at, updated_at)
      select ${id('aud')}, '${o.workspaceId}', 'Audience ' || n, '${o.userId}', ${at}, ${at}`,
    audience_contacts: `insert into audience_contacts (id, audience_id, workspace_id, email, created_at, updated_at)
      select ${id('ac')}, '${o.audienceId}', '${o.workspaceId}', ${email}, ${at}, ${at}`,
    domains: `insert into domains (id, workspace_id, name, created_by, created_at)
      select ${id('dom')}, '${o.workspaceId}', 'd' || n || '.example.test', '${o.userId}', ${at}`,
    domain_keys: `insert into domain_keys (id, domain_id, workspace_id, selector, algorithm, public_key, private_key,
        created_at, activated_at)
      select ${id('dk')}, ${id('dom')}, '${o.workspaceId}', 's', 'rsa', 'none', '', ${at}, ${at}`,
    templates: `insert into templates (id, workspace_id, name, current_version, created_at, updated_at)
      select ${id('tpl')}, '${o.workspaceId}', 'Template ' || n, 1, ${at}, ${at}`,
    template_versions: `insert into template_versions (template_id, version, workspace_id, subject, html, created_at)
      select ${id('tpl')}, 1, '${o.workspaceId}', 'Subject ' || n, '<p>Text</p>', ${at}`,
    api_keys: `insert into api_keys (id, workspace_id, user_id, name, prefix, token_hash, permission, created_at)
      select ${id('key')}, '${o.workspaceId}', '${o.userId}', 'Key ' || n, 'dk_', sha256(n::text::bytea),
        'read_only', ${at}`,
    workflows: `insert into workflows (id, workspace_id, name, status, current_version, created_by,
        created_by_type, created_at, updated_at)
      select ${id('wf')}, '${o.workspaceId}', 'Workflow ' || n, 'draft', 1, 'owner@example.test', 'user', ${at}, ${at}`,
    workflow_versions: `insert into workflow_versions (workflow_id, version, workspace_id, design, created_by,
        created_at)
      select '${o.workflowId}', n, '${o.workspaceId}', '{"nodes": [], "edges": []}', 'owner@example.test', ${at}`,
    contacts: `insert into contacts (id, workspace_id, email, event_count, first_seen, last_seen, last_event,
        created_at, updated_at)
      select ${id('ct')}, '${o.workspaceId}', ${email}, 1, ${at}, ${at}, 'user.signed_up', ${at}, ${at}`,
    automation_events: `insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email, at,
        created_at)
      select ${id('evt')}, '${o.workspaceId}', '${o.contactId}', ${id('evt')}, 'page.viewed', '${o.contactEmail}',
        ${at}, ${at}`,
    executions: `insert into executions (id, workspace_id, workflow_id, version, contact_id, email,
        trigger_node_id, ended_status, current_step_id, step_count, created_at, updated_at, completed_at)
      select ${id('exe')}, '${o.workspaceId}', '${o.workflowId}', 1, '${o.contactId}', '${o.contactEmail}', 'start',
        'COMPLETED', 'end', 3, ${at}, ${at}, ${at}`,
    execution_steps: `insert into execution_steps (execution_id, seq, segment, node_id, type, handle, at)
      select '${o.executionId}', n, 0, 'node', 'condition', 'true', ${at}`,
  }
}

export interface SeededLists {
  workspace: Workspace
  owners: Owners
  /** Number of the oldest row of each list, and of the newest. */
  oldest: number
  newest: number
}

/** Inserts `rows` rows for every list and vacuums the tables. */
export async function seedLists(
  databaseUrl: string,
  rows: number,
  say: (line: string) => void,
): Promise<SeededLists> {
  const workspace = await createWorkspace(databaseUrl)
  const { workspaceId, userId, domainId } = workspace
  const others = Math.ceil(rows / OTHERS_SHARE)
  const oldest = others + 1
  const newest = others + rows
  const owners: Owners = {
    workspaceId,
    userId,
    domainId,
    audienceId: seededId('aud', oldest),
    workflowId: newId('workflow'),
    contactId: seededId('ct', oldest),
    contactEmail: seededEmail(oldest),
    executionId: seededId('exe', oldest),
  }
  const ofOthers = statements({
    ...owners,
    workspaceId: newId('workspace'),
    workflowId: newId('workflow'),
  })
  await insertWorkflow(workspace, owners.workflowId, newest)
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: AT_A_TIME,
    // Foreign keys are not checked, because that would take long for millions of rows.
    options: '-c session_replication_role=replica -c maintenance_work_mem=256MB',
  })
  const begin = Date.now()
  try {
    const insert = async ([table, statement]: [string, string]) => {
      const from = Date.now()
      if (SHARED.includes(table)) {
        await pool.query(`${ofOthers[table]} from generate_series(1, ${others}) as n`)
      }
      await pool.query(`${statement} from generate_series(${oldest}, ${newest}) as n`)
      await pool.query(`vacuum analyze ${table}`)
      say(`${rows} rows in ${table}, ${((Date.now() - from) / 1000).toFixed(1)} s`)
    }
    const waiting = Object.entries(statements(owners))
    await Promise.all(
      Array.from({ length: AT_A_TIME }, async () => {
        for (let next = waiting.shift(); next; next = waiting.shift()) await insert(next)
      }),
    )
  } finally {
    await pool.end()
  }
  say(`seeded in ${Math.round((Date.now() - begin) / 1000)} s`)
  return { workspace, owners, oldest, newest }
}

/** Inserts the workflow of the versions, which is newer than all seeded ones. */
async function insertWorkflow(
  { db, workspaceId }: Workspace,
  workflowId: string,
  versions: number,
) {
  const now = new Date()
  await db
    .insertInto('workflows')
    .values({
      id: workflowId,
      workspace_id: workspaceId,
      name: 'The busy one',
      status: 'paused',
      current_version: versions,
      created_by: 'owner@example.test',
      created_by_type: 'user',
      created_at: now,
      updated_at: now,
      archived_at: null,
    })
    .execute()
}
