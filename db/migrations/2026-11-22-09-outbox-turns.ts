// Rows for Temporal are found workspace by workspace, the starts of each workflow apart, so that they take turns.
// `outbox_due` stays for processes of the release before.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index outbox_turns on outbox (workspace_id,
      (case when kind = 'start' then workflow_id else '' end), next_at, id) where kind <> 'mail_event';
  `.execute(db)
}
