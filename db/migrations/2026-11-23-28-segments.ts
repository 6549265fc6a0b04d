// Segments of contacts: their conditions, who is in those that active workflows begin at, and how far that is filled.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table segments (
      id text collate "C" primary key,
      workspace_id text collate "C" not null references workspaces,
      name text not null,
      condition jsonb not null,
      named_ids text[] not null,
      generation integer not null default 1,
      kept boolean not null default false,
      filled boolean not null default false,
      event_names text[] not null default '{}',
      audience_ids text[] not null default '{}',
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    )`.execute(db)
  await sql`create index segments_list on segments (workspace_id, id desc)`.execute(db)
  await sql`create index segments_kept on segments (workspace_id) where kept`.execute(db)
  await sql`
    create table segment_members (
      contact_id text collate "C" not null references contacts on delete cascade,
      segment_id text collate "C" not null,
      workspace_id text collate "C" not null,
      generation integer not null,
      is_member boolean not null,
      next_look_at timestamptz(3),
      primary key (contact_id, segment_id)
    )`.execute(db)
  await sql`
    create index segment_members_due on segment_members (next_look_at)
    where next_look_at is not null`.execute(db)
  await sql`
    create table segment_fills (
      segment_id text collate "C" primary key,
      workspace_id text collate "C" not null,
      generation integer not null,
      after_contact_id text collate "C" not null default '',
      fence xid8,
      next_at timestamptz(3) not null
    )`.execute(db)
  await sql`create index segment_fills_due on segment_fills (next_at)`.execute(db)
}
