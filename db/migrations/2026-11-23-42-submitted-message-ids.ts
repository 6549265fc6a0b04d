// Finds mail that was submitted by SMTP by the Message-ID that its client gave it, for reports that name nothing else.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table submitted_message_ids (
      hash bigint not null,
      workspace_id text collate "C" not null,
      email_id text collate "C" not null,
      primary key (hash, workspace_id, email_id)
    )`.execute(db)
  // Its own Message-ID begins with the id of the email. A trigger, so that processes of the release before write these too.
  await sql`
    create function note_message_id() returns trigger language plpgsql as $$
    begin
      insert into submitted_message_ids (hash, workspace_id, email_id)
      select hashtextextended(m.message_id, 0), m.workspace_id, m.id from emails m
      where m.id = new.email_id and not starts_with(m.message_id, substr(m.id, 4) || '.')
      on conflict do nothing;
      return null;
    end $$`.execute(db)
  await sql`
    create trigger note_message_id after insert on email_sources for each row
    when (new.position = 0) execute function note_message_id()`.execute(db)
  await sql`
    insert into submitted_message_ids (hash, workspace_id, email_id)
    select hashtextextended(m.message_id, 0), m.workspace_id, m.id
    from email_sources s join emails m on m.id = s.email_id
    where s.position = 0 and not starts_with(m.message_id, substr(m.id, 4) || '.')
    on conflict do nothing`.execute(db)
}
