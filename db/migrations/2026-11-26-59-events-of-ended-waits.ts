// The event with which something else ended a wait, such as the condition that it made true: it ends no other wait of the execution.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(db)
  await sql`alter table event_waits add column if not exists ended_with text collate "C"`.execute(
    db,
  )
}
