// `contact.updated` is told of each change of a contact's properties, whatever the clocks say: the trigger of before took times that are
// equal, or go back, for the making of the contact, and an event counts itself in the row before it changes properties.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(db)
  // Rows that are there take the transaction of this migration, without being written. Those to come get their own without that any
  // writer says so, those of the release before too.
  await sql`alter table contacts add column made_in xid8 not null default pg_current_xact_id()`.execute(
    db,
  )
  // `contact.created` is told at the commit, with all that its transaction has changed.
  await sql`
    drop trigger tell_of_changed_contact on contacts;
    create trigger tell_of_changed_contact after update of properties on contacts
      for each row when (old.properties is distinct from new.properties and new.made_in <> pg_current_xact_id())
      execute function tell_of_contact();
  `.execute(db)
}
