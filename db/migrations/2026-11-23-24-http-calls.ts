// Requests that nodes make of other services, with their answers, and the secrets that they read.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table http_calls (
      execution_id text collate "C" not null,
      segment integer not null,
      node_id text not null,
      workspace_id text collate "C" not null,
      lap integer not null,
      store_as text,
      -- Encrypted with SECRET_KEY; null once the call is over.
      request bytea,
      tries integer not null default 0,
      outcome text check (outcome in ('success', 'error')),
      why text,
      status integer,
      took_ms integer,
      answer jsonb,
      goals_reached text[] not null default '{}',
      created_at timestamptz(3) not null,
      ended_at timestamptz(3),
      primary key (execution_id, segment)
    );
    create index http_calls_open on http_calls (execution_id, segment) where request is not null;
    create table secrets (
      workspace_id text collate "C" not null,
      name text collate "C" not null,
      -- Encrypted with SECRET_KEY.
      value bytea not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (workspace_id, name)
    );
  `.execute(db)
}
