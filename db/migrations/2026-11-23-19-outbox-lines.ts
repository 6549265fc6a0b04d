// Rows that Temporal has refused stand in lines of their own, with the answer. The index takes the place of `outbox_turns` and
// `outbox_due`: beside them Postgres would read further rows at times. It may be run again after it was interrupted.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table outbox add column if not exists refusal text`.execute(db)
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists outbox_lines`.execute(db)
  await sql`
    create index concurrently outbox_lines on outbox ((case when attempts = 0 then 0 else 1 end), workspace_id,
      (case when kind = 'start' then workflow_id else '' end), next_at, id) where kind <> 'mail_event'
  `.execute(db)
  for (const name of ['outbox_turns', 'outbox_due']) {
    await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(db)
  }
}
