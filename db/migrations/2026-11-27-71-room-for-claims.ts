// Room in the pages of deliveries for another version of each of their rows, which a claim of neighbours writes at once.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(db)
  // A version that a claim has written is longer by its lease. With 60 a third of such a claim went to other pages, which writes all indexes.
  await sql`alter table deliveries set (fillfactor = 45)`.execute(db)
}
