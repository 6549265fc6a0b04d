// Mail that is sent later: when it is due, and which mail still waits for its time.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '5s'`.execute(db)
  await sql`alter table emails add column if not exists scheduled_at timestamptz(3)`.execute(db)
  await sql`
    alter table deliveries
      add column if not exists scheduled boolean not null default false,
      add column if not exists due_at timestamptz(3)`.execute(db)
  await sql`
    alter table email_events
      drop constraint if exists email_events_status_check,
      add constraint email_events_status_check check (status in ('scheduled', 'sent', 'delivered',
        'opened', 'clicked', 'bounced')) not valid`.execute(db)
  await sql`alter table email_events validate constraint email_events_status_check`.execute(db)
  await tellWhenItIsDue(db)
  await keepFromOlderWorkers(db)
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists deliveries_scheduled`.execute(db)
  await sql`
    create index concurrently deliveries_scheduled on deliveries (workspace_id, email_id desc nulls last)
    where scheduled`.execute(db)
}

/** What webhooks are told of scheduled mail has the time for which it was scheduled. */
async function tellWhenItIsDue(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function webhook_email(of_email text, to_address text, happened timestamptz, more jsonb)
    returns jsonb language sql stable as $$
      select jsonb_build_object('email_id', m.id, 'type', m.type, 'recipient', to_address, 'from', m."from",
          'subject', m.subject, 'tags', m.tags,
          'metadata', case when octet_length(m.metadata::text) > 65536 then '{}'::jsonb else m.metadata end,
          'timestamp', webhook_ms(happened))
        || jsonb_strip_nulls(jsonb_build_object('workflow_id', m.workflow_id, 'execution_id', m.execution_id,
          'scheduled_at', webhook_ms(m.scheduled_at)))
        || more
      from emails m where m.id = of_email
    $$`.execute(db)
}

/**
 * Workers of the release before know no scheduled mail: they would make it ready without its event `sent`, or hasten it with a domain
 * whose warm-up is over. Whoever knows it ends `scheduled` with that, and moves it by both times.
 */
async function keepFromOlderWorkers(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function keep_scheduled() returns trigger language plpgsql as $$
    begin
      return null;
    end $$`.execute(db)
  await sql`
    create or replace trigger keep_scheduled before update on deliveries for each row
      when (old.scheduled and new.scheduled and new.settled_at is null
        and (new.ready or new.next_at is distinct from new.due_at))
      execute function keep_scheduled()`.execute(db)
}
