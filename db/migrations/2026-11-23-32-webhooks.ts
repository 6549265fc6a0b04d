// Webhooks: endpoints with their secrets, the events that they are told of, and one small row for each event and endpoint.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table webhooks (
      id text collate "C" primary key,
      workspace_id text collate "C" not null references workspaces,
      domain_id text collate "C",
      url text not null,
      events text[] not null,
      description text,
      status text not null check (status in ('enabled', 'disabled')),
      disabled_reason text,
      failures integer not null default 0,
      failing_since timestamptz(3),
      succeeded_at timestamptz(3),
      rests_until timestamptz(3),
      epoch bigint not null default 0,
      leased_until timestamptz(3),
      deleted_at timestamptz(3),
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    ) with (fillfactor = 50)`.execute(db)
  await sql`create index webhooks_list on webhooks (workspace_id, id desc)`.execute(db)
  await sql`
    create index webhooks_of_domain on webhooks (workspace_id, domain_id, id desc)
      where domain_id is not null`.execute(db)
  await sql`
    create index webhooks_enabled on webhooks (workspace_id) where status = 'enabled'`.execute(db)
  await sql`
    create index webhooks_deleted on webhooks (id) where deleted_at is not null`.execute(db)
  await sql`
    create table webhook_secrets (
      webhook_id text collate "C" not null references webhooks on delete cascade,
      id bigint generated always as identity,
      secret bytea not null,
      valid_until timestamptz(3),
      primary key (webhook_id, id)
    )`.execute(db)
  await sql`
    create table webhook_events (
      id uuid primary key,
      workspace_id text collate "C" not null,
      type text not null,
      at timestamptz(3) not null,
      data jsonb not null
    )`.execute(db)
  await sql`
    create table webhook_deliveries (
      id uuid primary key,
      webhook_id text collate "C" not null,
      event_id uuid not null,
      workspace_id text collate "C" not null,
      state text not null default 'pending' check (state in ('pending', 'succeeded', 'failed')),
      attempts integer not null default 0,
      next_at timestamptz(3),
      response_status integer,
      response_ms integer,
      created_at timestamptz(3) not null,
      check ((state = 'pending') = (next_at is not null))
    )`.execute(db)
  await sql`
    create index webhook_deliveries_waiting on webhook_deliveries (webhook_id, next_at, id)
    where next_at is not null`.execute(db)
  await sql`
    create index webhook_deliveries_list on webhook_deliveries (webhook_id, state, id)`.execute(db)
  // Without a reference to deliveries, whose rows a complaint must not lock.
  await sql`
    create table complaints (
      delivery_id bigint primary key,
      workspace_id text collate "C" not null,
      at timestamptz(3) not null
    )`.execute(db)
}
