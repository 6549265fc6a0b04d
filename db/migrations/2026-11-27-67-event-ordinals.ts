// The place of an event among those of its contact, and how many there were when an execution began: which of the two came first is told
// by the contact's lock, not by the clocks of the processes that wrote them. Null in what processes of the release before write.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(db)
  await sql`alter table automation_events add column if not exists ordinal bigint`.execute(db)
  await sql`alter table executions add column if not exists events_before bigint`.execute(db)
}
