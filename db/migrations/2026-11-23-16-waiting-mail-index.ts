// The index of what waits for an address holds no mail under way any more: a claim has one index less to write.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists deliveries_waiting_to`.execute(db)
  await sql`
    create index concurrently deliveries_waiting_to on deliveries (workspace_id, lower(recipient))
    where lease_until is null and settled_at is null`.execute(db)
  await sql`drop index concurrently if exists deliveries_waiting_for`.execute(db)
}
