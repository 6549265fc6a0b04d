// Finds what is too old to be kept by indexes, and tells nobody of suppressions that had ended before they were deleted.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

const indexes: Record<string, string> = {
  email_events_visitors: "email_events (at) where data ?| array['ip', 'user_agent']",
  jobs_completed: 'jobs (completed_at, id) where completed_at is not null',
  http_calls_age: 'http_calls (created_at, execution_id, segment)',
  complaints_age: 'complaints (at, delivery_id)',
  submitted_message_ids_email: 'submitted_message_ids (email_id)',
  suppressions_expired: 'suppressions (expires_at) where expires_at is not null',
  erased_suppressions_expired: 'erased_suppressions (expires_at) where expires_at is not null',
  soft_bounces_cleared: 'soft_bounces (day) where cleared_by is not null',
  former_tokens_expired: 'former_tokens (expires_at)',
  email_days_day: 'email_days (day)',
}

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '5s'`.execute(db)
  await sql`
    create table if not exists retention_parts (
      name text collate "C" primary key,
      next_at timestamptz(3) not null,
      days int
    )`.execute(db)
  // A suppression that has ended is none, so its row may go unheard. In one commit: between two of them each would be told twice.
  await sql`
    do $$ begin
      create or replace trigger tell_of_suppression after insert or update on suppressions
        for each row execute function tell_of_suppression();
      create or replace trigger tell_of_deleted_suppression after delete on suppressions for each row
        when (old.expires_at is null or old.expires_at > statement_timestamp())
        execute function tell_of_suppression();
    end $$`.execute(db)
  // Building one waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  for (const [name, on] of Object.entries(indexes)) {
    await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(db)
    await sql`create index concurrently ${sql.ref(name)} on ${sql.raw(on)}`.execute(db)
  }
}
