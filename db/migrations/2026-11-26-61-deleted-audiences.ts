// An audience that is deleted is marked, and its contacts go afterwards, page by page: one statement for all contacts of a large one
// did not end in time. It may be run again after it was interrupted.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '5s'`.execute(db)
  await sql`alter table audiences add column if not exists deleted_at timestamptz(3)`.execute(db)
  // As before, but that nobody hears of the contacts of a deleted audience.
  await sql`
    create or replace function tell_of_member() returns trigger language plpgsql as $$
    declare
      a audience_contacts := case when tg_op = 'DELETE' then old else new end;
    begin
      if not webhook_asked(a.workspace_id) then return null; end if;
      perform tell_webhooks(a.workspace_id,
        case when tg_op = 'DELETE' then 'audience.left' else 'audience.joined' end, clock_timestamp(),
        jsonb_build_object('audience_id', a.audience_id, 'id', a.id, 'first_name', a.first_name,
          'last_name', a.last_name, 'email', a.email, 'is_subscribed', a.is_subscribed,
          'created', webhook_ms(a.created_at), 'updated', webhook_ms(a.updated_at), 'properties', a.properties),
        null)
      where exists (select from audiences x where x.id = a.audience_id and x.deleted_at is null);
      return null;
    end $$`.execute(db)
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists audiences_deleted`.execute(db)
  // Of each workspace the one that was deleted first.
  await sql`
    create index concurrently audiences_deleted on audiences (workspace_id, deleted_at, id)
      where deleted_at is not null`.execute(db)
}
