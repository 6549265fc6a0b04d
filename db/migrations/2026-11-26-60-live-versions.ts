// Which versions of a workflow executions still run: asked when a template or a segment changes, however many run.
import { type Kysely, sql } from 'kysely'

/** The index is built beside running processes. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists executions_live_version`.execute(db)
  await sql`
    create index concurrently executions_live_version on executions (workflow_id, version)
    where ended_status is null`.execute(db)
}
