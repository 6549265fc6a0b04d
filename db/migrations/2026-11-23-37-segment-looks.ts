// Remembers when a contact was looked at for a segment, so that an older clock turns nothing back.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table segment_members add column looked_at timestamptz(3)`.execute(db)
}
