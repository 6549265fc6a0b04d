// Erasures that are not over, for the last look before mail goes out; and bodies of webhooks by their person and mail.
// It may be run again after it was interrupted.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '5s'`.execute(db)
  await sql`
    create table if not exists live_erasures (
      workspace_id text collate "C" not null,
      address_hmac bytea not null,
      delivery_id bigint not null,
      primary key (workspace_id, address_hmac)
    )`.execute(db)
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists webhook_events_person_mail`.execute(db)
  await sql`
    create index concurrently webhook_events_person_mail
      on webhook_events (workspace_id, webhook_person(data), (data->>'email_id'))
  `.execute(db)
  await sql`drop index concurrently if exists webhook_events_person`.execute(db)
}
