// Notes what submitted mail is found by once for each statement that writes some: the Message-ID of its client, and whom its header names.
import { type Kysely, sql } from 'kysely'

/** Its own Message-ID begins with the id of the email. */
const isOfClient = sql`not starts_with(m.message_id, substr(m.id, 4) || '.')`

/** As in the migration of `header_names`. */
const namesOf = sql`
        select m.workspace_id, hashtextextended(n.address, 0), m.id
        from unnest(m."to" || m.cc) as a(entry)
        cross join lateral (select lower(coalesce(substring(a.entry from '<([^<>]+)>\\s*$'), a.entry)) as address) n
        where not exists (select from deliveries d where d.email_id = m.id and lower(d.recipient) = n.address)`

/** A trigger for each row ran two statements for each mail, also for mail that shares a statement: a tenth and more of what such a mail took Postgres. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function note_submitted() returns trigger language plpgsql as $$
    begin
      with m as materialized (
        select e.id, e.workspace_id, e.message_id, e."to", e.cc
        from added s join emails e on e.id = s.email_id where s.position = 0
      ), of_client as (
        insert into submitted_message_ids (hash, workspace_id, email_id)
        select hashtextextended(m.message_id, 0), m.workspace_id, m.id from m where ${isOfClient}
        on conflict do nothing
      )
      insert into header_names (workspace_id, hash, email_id)
      select n.* from m cross join lateral (${namesOf}) n
      on conflict do nothing;
      return null;
    end $$`.execute(db)
  await sql`
    create trigger note_submitted after insert on email_sources referencing new table as added
    for each statement execute function note_submitted()`.execute(db)
  await sql`drop trigger note_message_id on email_sources`.execute(db)
  await sql`drop trigger note_header_names on email_sources`.execute(db)
  await sql`drop function note_message_id(), note_header_names()`.execute(db)
}
