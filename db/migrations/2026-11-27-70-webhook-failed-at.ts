// When a try of an endpoint last failed: an endpoint to which nothing was sent for long has not failed all that time.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(db)
  await sql`alter table webhooks add column if not exists failed_at timestamptz(3)`.execute(db)
}
