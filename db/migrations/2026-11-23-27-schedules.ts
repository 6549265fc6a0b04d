// Triggers that start by themselves: each has a row while its workflow is active, with how far its members are started.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table if not exists schedules (
      workflow_id text collate "C" not null,
      node_id text collate "C" not null,
      workspace_id text collate "C" not null,
      version integer not null,
      schedule jsonb not null,
      audience_id text collate "C" not null,
      filter jsonb,
      re_entry jsonb,
      handled_until timestamptz(3) not null,
      due_at timestamptz(3),
      after_email text collate "C" not null default '',
      paged_at timestamptz(3),
      busy_since timestamptz(3),
      is_over boolean not null default false,
      primary key (workflow_id, node_id)
    )`.execute(db)
  await sql`alter table executions add column if not exists scheduled_at timestamptz(3)`.execute(db)
  await sql`
    alter table outbox
      drop constraint if exists outbox_kind_check,
      add constraint outbox_kind_check check (kind in ('start', 'signal', 'cancel', 'domain_start',
        'domain_check', 'schedule', 'mail_event', 'leave')) not valid`.execute(db)
  await sql`alter table outbox validate constraint outbox_kind_check`.execute(db)
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists executions_scheduled`.execute(db)
  await sql`
    create unique index concurrently executions_scheduled
    on executions (workflow_id, trigger_node_id, scheduled_at, contact_id)
    where scheduled_at is not null`.execute(db)
}
