// Which automation events tell of the past: they are counted, and no goal is reached by them.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table automation_events add column historical boolean not null default false`.execute(
    db,
  )
}
