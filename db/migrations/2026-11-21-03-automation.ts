// Contacts, automation events, workflows, executions, waits and the outbox.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table contacts (
      id text collate "C" primary key,
      workspace_id text collate "C" not null,
      email text collate "C" not null,
      properties jsonb not null default '{}',
      event_count bigint not null default 0,
      first_seen timestamptz(3) not null,
      last_seen timestamptz(3) not null,
      last_event text not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      unique (workspace_id, email)
    );
    create index contacts_list on contacts (workspace_id, id desc);

    create table automation_events (
      id text collate "C" primary key,
      workspace_id text collate "C" not null,
      contact_id text collate "C" not null,
      event_id text collate "C" not null,
      event_name text not null,
      email text collate "C" not null,
      properties jsonb not null default '{}',
      at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      unique (workspace_id, event_id)
    );
    create index automation_events_contact on automation_events (contact_id, id desc);
    create index automation_events_name on automation_events (contact_id, event_name, at);

    create table workflows (
      id text collate "C" primary key,
      workspace_id text collate "C" not null references workspaces,
      name text not null,
      status text not null check (status in ('draft', 'active', 'paused')),
      current_version integer not null,
      active_version integer not null default 0,
      created_by text not null,
      created_by_type text not null check (created_by_type in ('user', 'apiKey')),
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      archived_at timestamptz(3)
    );
    create index workflows_list on workflows (workspace_id, id desc) where archived_at is null;
    create table workflow_versions (
      workflow_id text collate "C" not null references workflows,
      version integer not null,
      workspace_id text collate "C" not null,
      design jsonb not null,
      created_by text not null,
      created_at timestamptz(3) not null,
      primary key (workflow_id, version)
    );
    -- The triggers of active workflows alone: what an arriving event is matched against.
    create table workflow_triggers (
      workflow_id text collate "C" not null references workflows,
      node_id text not null,
      workspace_id text collate "C" not null,
      event_name text not null,
      version integer not null,
      -- In the design's order: the first trigger that matches starts the execution.
      position smallint not null,
      filter jsonb,
      re_entry jsonb,
      primary key (workflow_id, node_id)
    );
    create index workflow_triggers_event on workflow_triggers (workspace_id, event_name);

    create table executions (
      id text collate "C" primary key,
      workspace_id text collate "C" not null,
      workflow_id text collate "C" not null,
      version integer not null,
      contact_id text collate "C" not null,
      email text collate "C" not null,
      trigger_node_id text not null,
      trigger_event_id text collate "C",
      properties jsonb,
      ended_status text check (ended_status in ('COMPLETED', 'FAILED', 'CANCELLED')),
      current_step_id text not null default '',
      step_count integer not null default 0,
      outcome text,
      error text,
      cancellation_reason text,
      -- How many executions led to this one by the mail they sent; bounded, so that no loop runs for ever.
      chain_depth smallint not null default 0,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      completed_at timestamptz(3),
      check ((ended_status is null) = (completed_at is null))
    );
    -- One event starts a workflow once.
    create unique index executions_trigger on executions (trigger_event_id, workflow_id)
      where trigger_event_id is not null;
    create index executions_entry on executions (contact_id, workflow_id, created_at desc);
    create index executions_live on executions (contact_id, workflow_id) where ended_status is null;
    create index executions_live_workflow on executions (workflow_id, created_at desc, id desc)
      where ended_status is null;
    create index executions_ended_workflow on executions
      (workflow_id, ended_status, completed_at desc, id desc) where ended_status is not null;
    create index executions_ended_contact on executions
      (contact_id, ended_status, completed_at desc, id desc) where ended_status is not null;

    create table execution_segments (
      execution_id text collate "C" not null,
      segment integer not null,
      result jsonb not null,
      created_at timestamptz(3) not null,
      primary key (execution_id, segment)
    );
    create table execution_steps (
      execution_id text collate "C" not null,
      seq integer not null,
      segment integer not null,
      node_id text not null,
      type text not null,
      handle text,
      why text,
      at timestamptz(3) not null,
      primary key (execution_id, seq)
    );
    create table event_waits (
      execution_id text collate "C" not null,
      segment integer not null,
      node_id text not null,
      workspace_id text collate "C" not null,
      contact_id text collate "C" not null,
      event_name text not null,
      filter jsonb,
      deadline timestamptz(3),
      consumed_by text collate "C",
      created_at timestamptz(3) not null,
      primary key (execution_id, segment, node_id)
    );
    create index event_waits_open on event_waits (contact_id, event_name)
      where consumed_by is null;

    create table outbox (
      id bigint generated always as identity primary key,
      kind text not null check (kind in ('start', 'signal', 'cancel')),
      execution_id text collate "C" not null,
      workspace_id text collate "C" not null,
      workflow_id text collate "C" not null,
      contact_id text collate "C" not null,
      payload jsonb not null default '{}',
      next_at timestamptz(3) not null,
      attempts integer not null default 0,
      created_at timestamptz(3) not null
    );
    create index outbox_due on outbox (next_at, id);
    create index outbox_execution on outbox (execution_id, id);
    create index outbox_starts_workflow on outbox (workflow_id, created_at) where kind = 'start';
    create index outbox_starts_contact on outbox (contact_id, created_at) where kind = 'start';

    create table workflow_unsubscribes (
      workflow_id text collate "C" not null,
      contact_id text collate "C" not null,
      workspace_id text collate "C" not null,
      created_at timestamptz(3) not null,
      primary key (workflow_id, contact_id)
    );
  `.execute(db)
}
