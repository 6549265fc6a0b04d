// What mail means for contacts goes through the outbox: one row for each recipient's event, which Temporal never sees.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table outbox
      drop constraint outbox_kind_check,
      add constraint outbox_kind_check
        check (kind in ('start', 'signal', 'cancel', 'domain_start', 'domain_check', 'mail_event'));

    -- Workers of before this schema carry every row whose next_at has come to Temporal and delete it: that of a mail
    -- event never comes, and it has a time of its own.
    alter table outbox add column due_at timestamptz(3),
      add constraint outbox_mail_event_due
        check (kind <> 'mail_event' or (due_at is not null and next_at = 'infinity'));

    -- However many mail events wait, whoever looks for what Temporal must be told does not meet them.
    drop index outbox_due;
    drop index outbox_execution;
    create index outbox_due on outbox (next_at, id) where kind <> 'mail_event';
    create index outbox_execution on outbox (execution_id, id) where kind <> 'mail_event';
    create index outbox_mail_due on outbox (workspace_id, due_at, id) where kind = 'mail_event';
    create index outbox_mail_contact on outbox (contact_id, id) where kind = 'mail_event';
  `.execute(db)
}
