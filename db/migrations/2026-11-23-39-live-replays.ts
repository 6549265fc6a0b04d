// Jobs that cannot go on end, and a webhook has one replay at a time: what counts their refusals, and what finds the replay.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(db)
  await sql`alter table jobs add refusals smallint not null default 0`.execute(db)
  await sql`
    create index jobs_live_replay on jobs (workspace_id, (input->>'webhook_id'))
      where kind = 'replay' and status in ('queued', 'running', 'paused')`.execute(db)
}
