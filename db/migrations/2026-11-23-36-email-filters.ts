// Finds emails by what lists of them filter by: tags, sender, type, recipients and events.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table if not exists email_tags (
      workspace_id text collate "C" not null,
      tag text collate "C" not null,
      email_id text collate "C" not null
    )`.execute(db)
  await sql`
    create unique index if not exists email_tags_list on email_tags (workspace_id, tag, email_id desc nulls last)
  `.execute(db)
  // A trigger, so that processes of the release before write tags too.
  await sql`
    create or replace function write_email_tags() returns trigger language plpgsql as $$
    begin
      insert into email_tags (workspace_id, tag, email_id)
      select new.workspace_id, t.key || ':' || t.value, new.id from jsonb_each_text(new.tags) t
      where t.value is not null
      on conflict do nothing;
      return null;
    end $$`.execute(db)
  await sql`
    create or replace trigger email_tags after insert on emails for each row
    when (new.tags <> '{}'::jsonb) execute function write_email_tags()`.execute(db)
  await sql`
    insert into email_tags (workspace_id, tag, email_id)
    select m.workspace_id, t.key || ':' || t.value, m.id from emails m, jsonb_each_text(m.tags) t
    where m.tags <> '{}'::jsonb and t.value is not null
    on conflict do nothing`.execute(db)
  // Building them waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  for (const name of ['emails_from', 'emails_type', 'deliveries_to', 'email_events_status']) {
    await sql`drop index concurrently if exists ${sql.id(name)}`.execute(db)
  }
  await sql`
    create index concurrently emails_from on emails (workspace_id,
      lower(coalesce(substring("from" from '<([^<>]+)>\\s*$'), "from")), id desc nulls last)`.execute(
    db,
  )
  await sql`
    create index concurrently emails_type on emails (workspace_id, type, id desc nulls last)`.execute(
    db,
  )
  // Neither changes after the insert, so a claim or a mark changes no index more.
  await sql`
    create index concurrently deliveries_to on deliveries (workspace_id, lower(recipient),
      email_id desc nulls last)`.execute(db)
  await sql`
    create index concurrently email_events_status on email_events (workspace_id, status,
      email_id desc nulls last) where status <> 'sent' and machine is null`.execute(db)
}
