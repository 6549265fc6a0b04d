// Workspaces, users, keys, sending domains, templates and audiences.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table workspaces (
      id text collate "C" primary key,
      name text not null unique,
      created_at timestamptz(3) not null
    );
    create table users (
      id text collate "C" primary key,
      workspace_id text collate "C" not null references workspaces,
      email text not null,
      first_name text,
      last_name text,
      created_at timestamptz(3) not null,
      unique (workspace_id, email)
    );
    create table api_keys (
      id text collate "C" primary key,
      workspace_id text collate "C" not null references workspaces,
      user_id text collate "C" not null references users,
      name text not null,
      prefix text not null,
      token_hash bytea not null unique,
      permission text not null
        check (permission in ('full_access', 'sending_access', 'events_only', 'read_only')),
      domain_id text collate "C",
      expires_at timestamptz(3),
      last_used_at timestamptz(3),
      revoked_at timestamptz(3),
      created_at timestamptz(3) not null
    );
    create index api_keys_list on api_keys (workspace_id, id desc);

    create table domains (
      id text collate "C" primary key,
      workspace_id text collate "C" not null references workspaces,
      name text collate "C" not null,
      status text not null default 'NOT_STARTED'
        check (status in ('NOT_STARTED', 'PENDING', 'SUCCESS', 'FAILED', 'TEMPORARY_FAILURE')),
      dkim_selector text not null,
      public_key text not null,
      private_key bytea not null,
      last_checked_at timestamptz(3),
      last_success_at timestamptz(3),
      error_type text,
      soa_record jsonb not null default '{}',
      is_warmed_up boolean not null default false,
      warmed_up_at timestamptz(3),
      open_tracking_enabled boolean not null default false,
      click_tracking_enabled boolean not null default false,
      created_by text collate "C" not null references users,
      created_at timestamptz(3) not null,
      unique (workspace_id, name)
    );
    create index domains_list on domains (workspace_id, id desc);

    create table templates (
      id text collate "C" primary key,
      workspace_id text collate "C" not null references workspaces,
      name text not null,
      alias text,
      current_version integer not null,
      published_version integer,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      unique (workspace_id, alias)
    );
    create index templates_list on templates (workspace_id, id desc);
    create table template_versions (
      template_id text collate "C" not null references templates on delete cascade,
      version integer not null,
      workspace_id text collate "C" not null,
      subject text,
      "from" text,
      reply_to text,
      preview_text text,
      html text,
      text text,
      created_at timestamptz(3) not null,
      primary key (template_id, version)
    );

    create table audiences (
      id text collate "C" primary key,
      workspace_id text collate "C" not null references workspaces,
      name text not null,
      created_by text collate "C" not null references users,
      contact_count integer not null default 0,
      unsubscribers integer not null default 0,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    );
    create index audiences_list on audiences (workspace_id, id desc);
    create table audience_contacts (
      id text collate "C" primary key,
      audience_id text collate "C" not null references audiences on delete cascade,
      workspace_id text collate "C" not null,
      email text collate "C" not null,
      first_name text,
      last_name text,
      is_subscribed boolean not null default true,
      properties jsonb not null default '{}',
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      unique (audience_id, email)
    );
    create index audience_contacts_membership on audience_contacts (workspace_id, email);
  `.execute(db)
}
