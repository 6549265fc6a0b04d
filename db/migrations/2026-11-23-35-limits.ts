// Limits of workspaces and keys, and how many emails of a day have been given a place.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table rate_limits (
      subject text collate "C" primary key,
      workspace_id text collate "C" not null references workspaces,
      per_second double precision check (per_second > 0),
      burst integer check (burst > 0),
      emails_per_day integer check (emails_per_day >= 0),
      updated_at timestamptz(3) not null
    );
    create table email_days (
      subject text collate "C" not null,
      day date not null,
      workspace_id text collate "C" not null references workspaces,
      emails integer not null,
      granted integer not null,
      primary key (subject, day)
    );
  `.execute(db)
}
