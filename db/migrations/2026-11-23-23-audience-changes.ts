// Changes of an audience's counts that are not in its row yet: what many executions add at once waits for no lock of it.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table audience_changes (
      id bigint generated always as identity primary key,
      audience_id text collate "C" not null references audiences on delete cascade,
      contacts integer not null,
      unsubscribers integer not null
    );
    create index audience_changes_audience on audience_changes (audience_id);
  `.execute(db)
}
