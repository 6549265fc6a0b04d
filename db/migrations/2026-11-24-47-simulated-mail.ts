// Mail to test addresses is known by its row, so that no worker with other settings sends it to a mail server.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Null, for what an older process has written: the lane that claims it decides by its own setting, as it did before.
  await sql`
    set local lock_timeout = '5s';
    alter table deliveries add column simulated boolean, add column simulated_fence uuid;
    create function keep_simulated() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;
  `.execute(db)
  // The claim of a worker that knows the column writes its lease into the fence too. Any other passes over the row.
  await sql`
    create trigger keep_simulated before update on deliveries for each row
      when (old.simulated and new.state = 'sending' and old.state <> 'sending'
        and new.simulated_fence is distinct from new.lease_token)
      execute function keep_simulated()
  `.execute(db)
}
