// Leaving is kept apart from what was left, and the ledger gets what a claim needs to look once more.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    -- The key of the HMACs of addresses, encrypted with SECRET_KEY. A process of this release makes it.
    create table address_keys (
      id smallint primary key check (id = 1),
      key bytea not null,
      created_at timestamptz(3) not null
    );
    create table opt_outs (
      id text collate "C" primary key,
      workspace_id text collate "C" not null,
      scope text not null check (scope in ('workflow', 'audience', 'broadcasts', 'workspace')),
      -- Of a workflow or an audience; '' for the other scopes.
      target_id text collate "C" not null,
      address_hmac bytea not null,
      source text not null check (source in ('link', 'one_click', 'mail', 'complaint', 'api')),
      -- The email whose link a GET followed, which a scanner may have made; null: it is certain.
      unconfirmed_email_id text collate "C",
      created_at timestamptz(3) not null,
      unique (workspace_id, address_hmac, scope, target_id)
    );
    create index opt_outs_unconfirmed on opt_outs (unconfirmed_email_id)
      where unconfirmed_email_id is not null;

    -- What is copied into opt_outs. Processes of the release before still write these tables, and leave the columns out.
    alter table workflow_unsubscribes add column copied boolean not null default false;
    alter table audience_contacts add column leave_copied boolean;

    -- A GET that unsubscribes is carried out after a minute. Starters of the release before would give a row that
    -- they do not know to Temporal: its next_at never comes, as with mail events.
    alter table outbox
      drop constraint outbox_kind_check,
      add constraint outbox_kind_check check (kind in ('start', 'signal', 'cancel', 'domain_start',
        'domain_check', 'mail_event', 'leave')) not valid,
      add constraint outbox_leave_due
        check (kind <> 'leave' or (due_at is not null and next_at = 'infinity')) not valid;

    -- The other columns are null where marketing is not true. marketing is null in rows of the release before, until
    -- a worker has filled them in.
    alter table deliveries
      add column marketing boolean,
      add column address_hmac bytea,
      add column workflow_id text collate "C",
      add column execution_id text collate "C",
      add column fence uuid;
    -- A claim of this release writes its lease into the fence too. The claims of a worker of the release before do not, so
    -- Postgres refuses them. What that worker has under way now it may finish.
    update deliveries set fence = lease_token where state = 'sending' and lease_until is not null;
    alter table deliveries add constraint deliveries_fence
      check (state <> 'sending' or fence is not distinct from lease_token) not valid;
  `.execute(db)
}
