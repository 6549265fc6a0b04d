// What a sending engine keeps: signing keys, checks of domains, attempts, warm-up, tracking, soft bounces.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    -- A domain may have several keys: one of another algorithm, and during a rotation the old one and the new one.
    create table domain_keys (
      id text collate "C" primary key,
      domain_id text collate "C" not null references domains,
      workspace_id text collate "C" not null,
      selector text not null,
      algorithm text not null check (algorithm in ('rsa', 'ed25519')),
      public_key text not null,
      private_key bytea not null,
      created_at timestamptz(3) not null,
      activated_at timestamptz(3),
      retired_at timestamptz(3),
      unique (domain_id, selector)
    );
    insert into domain_keys (id, domain_id, workspace_id, selector, algorithm, public_key, private_key,
      created_at, activated_at)
    select 'dk_' || substr(id, 5), id, workspace_id, dkim_selector, 'rsa', public_key, private_key,
      created_at, created_at
    from domains;

    alter table domains
      drop column dkim_selector,
      drop column public_key,
      drop column private_key,
      add column tracking_domain text,
      add column record_states jsonb not null default '{}',
      add column checking_since timestamptz(3),
      add column failing_since timestamptz(3),
      add column misses integer not null default 0,
      add column deleted_at timestamptz(3),
      drop constraint domains_workspace_id_name_key;
    create unique index domains_name on domains (workspace_id, name) where deleted_at is null;
    drop index domains_list;
    create index domains_list on domains (workspace_id, id desc nulls last) where deleted_at is null;

    alter table outbox
      drop constraint outbox_kind_check,
      add constraint outbox_kind_check
        check (kind in ('start', 'signal', 'cancel', 'domain_start', 'domain_check'));

    -- Mail of a domain that is still warming up is let out day by day.
    create table domain_days (
      domain_id text collate "C" not null,
      day date not null,
      reserved integer not null,
      primary key (domain_id, day)
    );

    alter table emails
      add column track_opens boolean not null default false,
      add column track_clicks boolean not null default false,
      add column tracking_host text;
    create table email_links (
      email_id text collate "C" primary key,
      urls text[] not null
    );
    -- Who left by following a link may have been a scanner, which its other fetches show.
    alter table workflow_unsubscribes add column unconfirmed_email_id text collate "C";
    create index workflow_unsubscribes_unconfirmed on workflow_unsubscribes (unconfirmed_email_id)
      where unconfirmed_email_id is not null;

    alter table deliveries
      add column domain_id text collate "C" not null default '',
      add column slot_day date;
    update deliveries d set domain_id = m.domain_id from emails m where m.id = d.email_id;
    alter table deliveries alter column domain_id drop default;

    -- A claim asks each of its shards for what has waited longest there. The indexes know a delivery by its lease and
    -- its end, not by its state: the mark before the dot then changes no index, in the room that each page keeps.
    drop index deliveries_due;
    drop index deliveries_leased;
    create index deliveries_due on deliveries (shard, next_at)
      where lease_until is null and settled_at is null;
    create index deliveries_leased on deliveries (lease_until, shard) where lease_until is not null;
    alter table deliveries set (fillfactor = 70);

    create table delivery_attempts (
      delivery_id bigint not null,
      attempt integer not null,
      started_at timestamptz(3) not null,
      ended_at timestamptz(3) not null,
      outcome text not null,
      phase text,
      code smallint,
      response text,
      host text,
      address text,
      tls text,
      conversation text not null default '',
      primary key (delivery_id, attempt)
    );

    -- Opens and clicks that a machine made are kept with the reason, and shown to nobody.
    alter table email_events add column machine text;

    create table soft_bounces (
      workspace_id text collate "C" not null,
      email text collate "C" not null,
      day date not null,
      cleared_by text collate "C",
      primary key (workspace_id, email, day)
    );
    create index suppressions_list on suppressions (workspace_id, created_at desc, email desc);
  `.execute(db)
}
