// Emails, the delivery ledger, email events and suppressions.
import { type Kysely, sql } from 'kysely'

// No foreign keys here: their row locks on emails would serialise the settling of one email's
// recipients, and every row is written in the transaction that writes its email.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table emails (
      id text collate "C" primary key,
      workspace_id text collate "C" not null,
      type text not null check (type in ('transactional', 'broadcast')),
      category text not null check (category in ('transactional', 'marketing')),
      "from" text not null,
      "to" text[] not null,
      cc text[] not null default '{}',
      bcc text[] not null default '{}',
      reply_to text[] not null default '{}',
      subject text not null,
      html text,
      text text,
      template_id text collate "C",
      domain_id text collate "C" not null,
      headers jsonb not null default '{}',
      tags jsonb not null default '{}',
      metadata jsonb not null default '{}',
      message_id text not null,
      workflow_id text collate "C",
      execution_id text collate "C",
      node_id text,
      unsubscribe_token text collate "C",
      created_at timestamptz(3) not null
    );
    create index emails_list on emails (workspace_id, id desc);
    create index emails_workflow on emails (workflow_id, id desc) where workflow_id is not null;
    create index emails_execution on emails (execution_id, id desc) where execution_id is not null;
    create unique index emails_unsubscribe on emails (unsubscribe_token)
      where unsubscribe_token is not null;

    create table email_attachments (
      email_id text collate "C" not null,
      position smallint not null,
      filename text not null,
      content_type text,
      content_id text,
      content bytea not null,
      primary key (email_id, position)
    );

    create table deliveries (
      id bigint generated always as identity primary key,
      email_id text collate "C" not null,
      workspace_id text collate "C" not null,
      recipient text collate "C" not null,
      shard smallint not null check (shard between 0 and 63),
      state text not null check (state in ('queued', 'sending', 'data_sent', 'delivered',
        'deferred', 'bounced', 'unknown', 'cancelled', 'suppressed')),
      attempt integer not null default 0,
      next_at timestamptz(3) not null,
      lease_token uuid,
      lease_until timestamptz(3),
      expires_at timestamptz(3) not null,
      resent smallint not null default 0,
      last_response text,
      created_at timestamptz(3) not null,
      settled_at timestamptz(3),
      unique (email_id, recipient)
    );
    create index deliveries_due on deliveries (next_at, shard)
      where state in ('queued', 'deferred');
    create index deliveries_leased on deliveries (lease_until, shard)
      where state in ('sending', 'data_sent');

    create table email_events (
      id bigint generated always as identity primary key,
      email_id text collate "C" not null,
      workspace_id text collate "C" not null,
      recipient text collate "C" not null,
      status text not null check (status in ('sent', 'delivered', 'opened', 'clicked', 'bounced')),
      at timestamptz(3) not null,
      data jsonb not null default '{}'
    );
    create index email_events_email on email_events (email_id, at, id);
    -- What may happen once for a recipient can be written once.
    create unique index email_events_once on email_events (email_id, recipient, status)
      where status in ('sent', 'delivered', 'bounced');

    create table suppressions (
      workspace_id text collate "C" not null,
      email text collate "C" not null,
      reason text not null check (reason in ('bounce', 'complaint', 'manual')),
      source_id text collate "C",
      created_at timestamptz(3) not null,
      expires_at timestamptz(3),
      primary key (workspace_id, email)
    );
  `.execute(db)
}
