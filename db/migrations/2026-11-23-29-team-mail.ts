// Which deliveries go to the team and not to the contact of their execution: what becomes of them is nothing that happened to the
// contact.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(db)
  await sql`alter table deliveries add column to_team boolean not null default false`.execute(db)
}
