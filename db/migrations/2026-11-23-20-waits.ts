// Every wait has a row, and what may end it: an event, a condition, a goal or an exit. Events know the depth of their cause.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table event_waits
      alter column event_name drop not null,
      add column if not exists ended_by text,
      add column if not exists leads_to text,
      add column if not exists condition jsonb,
      add column if not exists path text,
      add column if not exists watched boolean not null default false,
      add column if not exists goals_reached text[] not null default '{}'
  `.execute(db)
  await sql`alter table workflow_versions add column if not exists interrupts jsonb`.execute(db)
  await sql`alter table automation_events add column if not exists depth smallint not null default 0`.execute(
    db,
  )
  await sql`alter table workflow_triggers add column if not exists about text`.execute(db)
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists event_waits_watched`.execute(db)
  await sql`
    create index concurrently event_waits_watched on event_waits (contact_id)
    where consumed_by is null and ended_by is null and watched`.execute(db)
}
