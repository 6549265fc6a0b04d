// Finds mail that was submitted by SMTP by the Message-ID that its client gave it, for reports that name nothing else.
import { type Kysely, sql } from 'kysely'

/** What there is already is read in pages, so that submission never waits for all of it. */
export const outsideTransaction = true

/** Emails of one statement. */
const PAGE = 5_000

/** Its own Message-ID begins with the id of the email. */
const isOfClient = sql`not starts_with(m.message_id, substr(m.id, 4) || '.')`

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '5s'`.execute(db)
  await sql`
    create table if not exists submitted_message_ids (
      hash bigint not null,
      workspace_id text collate "C" not null,
      email_id text collate "C" not null,
      primary key (hash, workspace_id, email_id)
    )`.execute(db)
  // A trigger, so that processes of the release before write these too.
  await sql`
    create or replace function note_message_id() returns trigger language plpgsql as $$
    begin
      insert into submitted_message_ids (hash, workspace_id, email_id)
      select hashtextextended(m.message_id, 0), m.workspace_id, m.id from emails m
      where m.id = new.email_id and ${isOfClient}
      on conflict do nothing;
      return null;
    end $$`.execute(db)
  await sql`
    create or replace trigger note_message_id after insert on email_sources for each row
    when (new.position = 0) execute function note_message_id()`.execute(db)
  await noteThoseOfBefore(db)
}

/** In the order of the emails' ids. Done again it writes nothing twice. */
async function noteThoseOfBefore(db: Kysely<unknown>): Promise<void> {
  for (let after: string | null = ''; after !== null; ) {
    const page: { rows: { last: string | null }[] } = await sql<{ last: string | null }>`
      with page as materialized (
        select s.email_id from email_sources s
        where s.position = 0 and s.email_id > ${after} order by s.email_id limit ${PAGE}::int
      ), noted as (
        insert into submitted_message_ids (hash, workspace_id, email_id)
        select hashtextextended(m.message_id, 0), m.workspace_id, m.id
        from page join emails m on m.id = page.email_id where ${isOfClient}
        on conflict do nothing
      )
      select max(email_id) as last from page`.execute(db)
    after = page.rows[0]?.last ?? null
  }
}
