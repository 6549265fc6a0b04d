// Erasure of contacts: suppressions by keyed hashes, hashes of event ids whose events are gone, and by whom bodies of webhooks are found.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '5s'`.execute(db)
  await sql`alter table deliveries add column if not exists own_hmac bytea`.execute(db)
  await sql`
    create table if not exists erased_suppressions (
      workspace_id text collate "C" not null,
      address_hmac bytea not null,
      reason text not null check (reason in ('bounce', 'complaint', 'manual')),
      source_id text collate "C",
      created_at timestamptz(3) not null,
      expires_at timestamptz(3),
      primary key (workspace_id, address_hmac)
    )`.execute(db)
  await sql`
    create index if not exists erased_suppressions_list on erased_suppressions (workspace_id, created_at desc)
  `.execute(db)
  await sql`
    create table if not exists spent_event_ids (
      workspace_id text collate "C" not null,
      id_hash bytea not null,
      primary key (workspace_id, id_hash)
    )`.execute(db)
  await sql`
    create or replace function webhook_person(data jsonb) returns text language sql immutable as $$
      select left(lower(coalesce(data->>'recipient', data->>'email')), 320)
    $$`.execute(db)
  await tellOfSuppressions(db)
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists webhook_events_person`.execute(db)
  await sql`
    create index concurrently webhook_events_person on webhook_events (workspace_id, webhook_person(data))
  `.execute(db)
}

/** A row without an address is one whose person is being erased: it goes, and the suppression stays. Nobody is told. */
async function tellOfSuppressions(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function tell_of_suppression() returns trigger language plpgsql as $$
    declare
      s suppressions := case when tg_op = 'DELETE' then old else new end;
    begin
      if strpos(s.email, '@') = 0 or not webhook_asked(s.workspace_id) then return null; end if;
      if tg_op = 'DELETE' or tg_op = 'INSERT' or new.created_at <> old.created_at then
        perform tell_webhooks(s.workspace_id,
          case when tg_op = 'DELETE' then 'suppression.deleted' else 'suppression.created' end,
          case when tg_op = 'DELETE' then clock_timestamp() else s.created_at end,
          jsonb_build_object('email', s.email, 'reason', s.reason, 'source_id', s.source_id,
            'created', webhook_ms(s.created_at), 'expires_at', webhook_ms(s.expires_at)), null);
      end if;
      return null;
    end $$`.execute(db)
}
