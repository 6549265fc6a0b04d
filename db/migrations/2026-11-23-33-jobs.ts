// Jobs: what takes longer than an answer, with how far each is, and what has failed of it.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table jobs (
      id text collate "C" primary key,
      workspace_id text collate "C" not null references workspaces,
      domain_id text collate "C",
      kind text not null check (kind in ('import', 'stop', 'release', 'retry', 'migration', 'backtest',
        'erasure', 'replay')),
      status text not null check (status in ('uploading', 'queued', 'running', 'paused', 'completed',
        'failed', 'cancelled')),
      input jsonb not null,
      place text,
      done bigint not null default 0,
      total bigint,
      counts jsonb not null default '{}',
      result jsonb,
      error text,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      completed_at timestamptz(3)
    )`.execute(db)
  await sql`create index jobs_list on jobs (workspace_id, id desc)`.execute(db)
  await sql`
    create index jobs_of_domain on jobs (workspace_id, domain_id, id desc)
      where domain_id is not null`.execute(db)
  await sql`create index jobs_kind on jobs (workspace_id, kind, id desc)`.execute(db)
  await sql`
    create index jobs_live on jobs (id) where status in ('queued', 'running')`.execute(db)
  await sql`
    create table job_failures (
      job_id text collate "C" not null references jobs on delete cascade,
      line bigint not null,
      error text not null,
      primary key (job_id, line)
    )`.execute(db)
}
