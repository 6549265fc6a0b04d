// Indexes for leaving, built while others write. It may be run again after it was interrupted.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

const indexes: Record<string, string> = {
  // What waits for an address.
  deliveries_waiting_for: 'deliveries (workspace_id, lower(recipient)) where settled_at is null',
  // What the release before has written: almost always empty.
  deliveries_unlooked: 'deliveries (id) where marketing is null and settled_at is null',
  workflow_unsubscribes_uncopied:
    'workflow_unsubscribes (workflow_id, contact_id) where not copied',
  audience_contacts_uncopied:
    'audience_contacts (id) where not is_subscribed and leave_copied is null',
  outbox_leave: "outbox (workspace_id, contact_id, workflow_id) where kind = 'leave'",
  outbox_leave_due: "outbox (due_at, id) where kind = 'leave'",
}

export async function up(db: Kysely<unknown>): Promise<void> {
  // Building one waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  for (const [name, on] of Object.entries(indexes)) {
    await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(db)
    await sql`create index concurrently ${sql.ref(name)} on ${sql.raw(on)}`.execute(db)
  }
  await sql`alter table outbox validate constraint outbox_kind_check`.execute(db)
  await sql`alter table outbox validate constraint outbox_leave_due`.execute(db)
}
