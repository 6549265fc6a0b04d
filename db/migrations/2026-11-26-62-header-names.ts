// Finds mail that was submitted by SMTP by those whom its header names as recipients and its envelope does not: the rest of a mail to many
// comes as another one with the same header. Who is erased is taken out of it too.
import { type Kysely, sql } from 'kysely'

/** What there is already is read in pages, so that submission never waits for all of it. */
export const outsideTransaction = true

/** Emails of one statement. */
const PAGE = 1_000

/**
 * Whom the header of an email `m` names beside its recipients, who are read once for all of the names, of which there may be thousands. An
 * entry is read as `without` in db/contacts/blank.ts does.
 */
const namesOf = sql`
      select m.workspace_id, hashtextextended(n.address, 0), m.id
      from unnest(m."to" || m.cc) as a(entry)
      cross join lateral (select lower(coalesce(substring(a.entry from '<([^<>]+)>\\s*$'), a.entry)) as address) n
      where not exists (select from deliveries d where d.email_id = m.id and lower(d.recipient) = n.address)`

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '5s'`.execute(db)
  await sql`
    create table if not exists header_names (
      workspace_id text collate "C" not null,
      hash bigint not null,
      email_id text collate "C" not null,
      primary key (workspace_id, hash, email_id)
    )`.execute(db)
  // A trigger, so that processes of the release before write these too. It runs at the end of the statement that writes the message, which
  // writes the email and its deliveries too.
  await sql`
    create or replace function note_header_names() returns trigger language plpgsql as $$
    begin
      insert into header_names (workspace_id, hash, email_id)
      select n.* from emails m cross join lateral (${namesOf}) n where m.id = new.email_id
      on conflict do nothing;
      return null;
    end $$`.execute(db)
  await sql`
    create or replace trigger note_header_names after insert on email_sources for each row
    when (new.position = 0) execute function note_header_names()`.execute(db)
  await noteThoseOfBefore(db)
}

/**
 * Notes the names of mail from before the trigger, in the order of the emails' ids. Done again it writes nothing twice. Mail whose message
 * is gone by its age is known as submitted by its Message-ID.
 */
async function noteThoseOfBefore(db: Kysely<unknown>): Promise<void> {
  for (let after: string | null = ''; after !== null; ) {
    const page: { rows: { last: string | null }[] } = await sql<{ last: string | null }>`
      with page as materialized (
        select email_id from (
          (select s.email_id from email_sources s
            where s.position = 0 and s.email_id > ${after} order by s.email_id limit ${PAGE}::int)
          union
          (select i.email_id from submitted_message_ids i
            where i.email_id > ${after} order by i.email_id limit ${PAGE}::int)
        ) known order by email_id limit ${PAGE}::int
      ), noted as (
        insert into header_names (workspace_id, hash, email_id)
        select n.* from page join emails m on m.id = page.email_id cross join lateral (${namesOf}) n
        on conflict do nothing
      )
      select max(email_id) as last from page`.execute(db)
    after = page.rows[0]?.last ?? null
  }
}
