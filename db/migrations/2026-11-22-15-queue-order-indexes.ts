// Indexes for the order among waiting mail, built while others write. It may be run again after it was interrupted.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

const indexes: Record<string, string> = {
  // A claim walks the lines of a class from workspace to workspace: what one has for one destination stands together.
  deliveries_lines:
    'deliveries (class, workspace_id, shard, destination, next_at) where ready and lease_until is null and settled_at is null',
  // What becomes due later.
  deliveries_later:
    'deliveries (shard, next_at) where not ready and lease_until is null and settled_at is null',
}

/** Rows of the release before that are filled in by one statement, so that none is locked for long. */
const PAGE = 5_000

export async function up(db: Kysely<unknown>): Promise<void> {
  // Building one waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  for (const [name, on] of Object.entries(indexes)) {
    await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(db)
    await sql`create index concurrently ${sql.ref(name)} on ${sql.raw(on)}`.execute(db)
  }
  let filled = 0
  do {
    const { rows } = await sql<{ count: number }>`
      with waiting as (
        select id from deliveries where destination = '' and settled_at is null and lease_until is null
        limit ${PAGE} for update skip locked
      ), filled as (
        update deliveries d set destination = lower(substring(recipient from '[^@]*$')),
          class = case when marketing then 1 else 0 end, ready = next_at <= now()
        from waiting where d.id = waiting.id returning d.id
      )
      select count(*)::int as count from filled
    `.execute(db)
    filled = rows[0]?.count ?? 0
  } while (filled > 0)
  await sql`drop index concurrently if exists deliveries_due`.execute(db)
}
