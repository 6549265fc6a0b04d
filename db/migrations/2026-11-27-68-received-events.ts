// Which event ended the latest wait at a node of an execution, however often that has waited.
import { type Kysely, sql } from 'kysely'

/** The index is built beside running processes. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists event_waits_received`.execute(db)
  await sql`
    create index concurrently event_waits_received on event_waits (execution_id, node_id, segment)
    where consumed_by is not null`.execute(db)
}
