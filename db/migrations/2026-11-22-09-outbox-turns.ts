// Rows for Temporal are found workspace by workspace, its starts apart from its other rows, so that they take turns.
// `outbox_due` stays for processes of the release before.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index outbox_turns on outbox (workspace_id, (kind = 'start'), next_at, id) where kind <> 'mail_event';
  `.execute(db)
}
