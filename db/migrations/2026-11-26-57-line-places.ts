// The order in a line has the ids too, so that a lane reads on behind a place in it: scheduled mail is due at one time for very many.
// It may be run again after it was interrupted.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  const { rows } = await sql`
    select from pg_index where indexrelid = to_regclass('deliveries_line_places') and indisvalid`.execute(
    db,
  )
  // One whose build was interrupted is not valid, and built anew.
  if (rows.length === 0) {
    await sql`drop index concurrently if exists deliveries_line_places`.execute(db)
    await sql`
      create index concurrently deliveries_line_places
      on deliveries (class, workspace_id, shard, destination, next_at, id) where ready and settled_at is null`.execute(
      db,
    )
  }
  await sql`drop index concurrently if exists deliveries_in_line`.execute(db)
}
