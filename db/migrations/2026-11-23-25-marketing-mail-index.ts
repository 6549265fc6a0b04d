// Finds the marketing mail of an address by its time, for workflows that cap how often a contact gets some.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists deliveries_marketing`.execute(db)
  // None of its columns changes after the insert, so the mark before the dot still changes no index.
  await sql`
    create index concurrently deliveries_marketing on deliveries (address_hmac, created_at)
    where marketing`.execute(db)
}
